"""Single ideas for speed, measured with and without: `python -m benchmarks.ideas`."""
