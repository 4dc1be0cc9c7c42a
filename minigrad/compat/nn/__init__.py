"""Layers and losses outside the core, and their functions."""
