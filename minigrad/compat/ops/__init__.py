"""Ops for functions outside the core, written like the ops in ``minigrad/ops``."""
