"""Measurements: programs rather than tests, since their figures depend on the machine, which each program describes."""
