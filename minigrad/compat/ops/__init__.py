"""Ops of functions that the core does without, written as those in ``minigrad/ops``."""
