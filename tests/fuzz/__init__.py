"""Fuzz tests: hostile files for every reader (``python -m tests.fuzz --help``)."""
