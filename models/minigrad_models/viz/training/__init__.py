"""Curves of trainings over their steps, and the weights and pictures that belong to these."""

from .training_view import TrainingView, training

__all__ = ["training", "TrainingView"]
