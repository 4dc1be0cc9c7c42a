"""Worked examples from the transformer lectures. Each number is computed by minigrad when the program runs.

``python -m examples.lectures --list`` lists them.
"""
