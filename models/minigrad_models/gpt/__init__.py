"""A language model on any text: ``minigrad gpt --help``."""
