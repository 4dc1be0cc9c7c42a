"""A first run on a GPU: one command that measures and checks everything, in stages. See docs/gpu.md."""
