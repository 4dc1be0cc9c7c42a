"""Vanishing and exploding gradients: measurements by distance, the theory, and their cost in training."""
