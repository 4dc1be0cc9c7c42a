"""All primitive ops, each with its forward function next to its gradient rules. ``op.py`` explains how to read them."""
