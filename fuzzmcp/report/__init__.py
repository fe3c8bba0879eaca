"""What a search found, as data (`model`) and for people (`console`, `live`, `vocabulary`)."""
