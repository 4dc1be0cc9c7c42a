"""Hostile input for every reader, the command line and the server: ``python -m tests.fuzz --help``."""
