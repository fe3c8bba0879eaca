"""What a search found: `build` makes the data (`model`), and each row of `formats` writes it for people or programs."""
