"""Optimisers and schedules that the core does without: ``minigrad.optim`` has them all."""
