"""Train a transformer to translate, and translate with it: ``python -m examples.translate``."""
