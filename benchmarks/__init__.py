"""Measurements. They are programs, not tests: their figures depend on the machine, which each program prints."""
