"""Every primitive op: its forward next to its gradient rules. ``op.py`` explains how to read them."""
