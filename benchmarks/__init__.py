"""Benchmarks. They are not tests, since their figures depend on the machine, which each benchmark reports."""
