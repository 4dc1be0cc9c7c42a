"""PyTorch's functions, by family: each parses PyTorch's arguments, then calls an op. See ``define.py``."""
