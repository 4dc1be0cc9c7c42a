"""Optimisers and schedules outside the core; ``minigrad.optim`` has them all."""
