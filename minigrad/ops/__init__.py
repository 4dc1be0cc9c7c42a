"""Every primitive: its forward and its gradient rules side by side. ``op.py`` says how to read them."""
