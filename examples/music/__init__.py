"""Music as a language, by a Music Transformer: ``python -m examples.music --help``."""
