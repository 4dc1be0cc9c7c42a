"""A language model on any text: ``python -m examples.gpt --help``."""
