"""A language model for any text: ``minigrad gpt --help``."""
