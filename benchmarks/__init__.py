"""Measurements. Programs and not tests: what they print depends on the machine, which they name."""
