"""Helpers around parameters that the core does without: other forms of weights, and all weights as one vector."""
