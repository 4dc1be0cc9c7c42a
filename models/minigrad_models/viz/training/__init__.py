"""Curves of training runs over their steps, with weights and pictures for the steps."""

from .training_view import TrainingView, training

__all__ = ["training", "TrainingView"]
