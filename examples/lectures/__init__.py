"""Worked examples of the transformer lectures: each number is computed by minigrad when the program runs.

``python -m examples.lectures --list`` lists them.
"""
