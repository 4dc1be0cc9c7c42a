"""PyTorch's free functions, by family. Each turns PyTorch's ways to write arguments into that of ops."""
