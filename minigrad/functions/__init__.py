"""PyTorch's free functions, by family. Each turns PyTorch's ways to write arguments into the one that ops take."""
