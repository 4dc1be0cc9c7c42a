"""Optimisers and schedules outside the core; ``minigrad.optim`` contains them all."""
