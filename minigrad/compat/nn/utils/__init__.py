"""Helpers outside the core that reparametrise weights, or convert all parameters to one vector and back."""
