"""The benchmark: what fuzzmcp costs (`cost`), and what it finds, shrinks to and does not cry about (`zoo`)."""
