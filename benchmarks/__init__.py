"""Benchmarks: programs rather than tests, as their figures depend on the machine, which each program describes."""
