"""PyTorch's functions, grouped by family. Each parses PyTorch's arguments, then calls an op. See ``define.py``."""
