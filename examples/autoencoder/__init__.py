"""Autoencoders of digits and of sentences: narrow codes, learning from noise, and the limits of a single vector.

    python -m examples.autoencoder --save pages

``codes`` encodes digits as two numbers, ``denoising`` cleans them, ``sentences`` copies English through one vector and
with attention; ``lesson`` joins them.
"""
