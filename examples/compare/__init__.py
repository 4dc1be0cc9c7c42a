"""Translators side by side: recurrent networks without and with attention, convolutions, and the transformer.

``python -m examples.compare --help`` lists the options.
"""
