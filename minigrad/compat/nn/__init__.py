"""Layers, losses and their functions outside the core."""
