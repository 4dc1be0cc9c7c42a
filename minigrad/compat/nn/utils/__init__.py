"""Helpers for parameters outside the core: reparametrised weights, and all weights as one vector."""
