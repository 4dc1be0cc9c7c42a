"""PyTorch's functions, by family: arguments as PyTorch takes them, then one op. ``define.py`` says how to write one."""
