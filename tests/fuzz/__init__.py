"""Hostile input for every reader and for the server: ``python -m tests.fuzz --help``."""
