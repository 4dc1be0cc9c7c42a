"""Layers, losses and their functions that the core does without."""
