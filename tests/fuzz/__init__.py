"""Hostile input for every reader, the command line, the server and the training: ``python -m tests.fuzz --help``."""
