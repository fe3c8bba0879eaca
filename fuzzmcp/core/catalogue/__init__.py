"""Tools and their schemas: a catalogue read, samples that satisfy a schema, the differences of two catalogues."""
