"""Gradients that vanish and explode: measured against distance, beside what theory says, and what they cost."""
