"""Translators side by side: recurrent networks with and without attention, convolutions, and the transformer.

``python -m examples.compare --help`` lists the options.
"""
