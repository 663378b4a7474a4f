"""One file per change of the tables, never edited after a release."""
