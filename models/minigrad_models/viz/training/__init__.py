"""Curves of training runs over their steps, with the weights and pictures at some of the steps."""

from .training_view import TrainingView, training

__all__ = ["training", "TrainingView"]
