"""Helpers for parameters, outside the core: reparametrised weights, and conversion of all weights to one vector."""
