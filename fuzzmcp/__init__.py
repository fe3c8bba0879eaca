"""fuzzmcp."""
