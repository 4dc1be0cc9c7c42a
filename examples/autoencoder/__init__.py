"""Autoencoders for digits and sentences: narrow codes, learning from noise, and the limits of a single vector.

    python -m examples.autoencoder --save pages

``codes`` encodes digits as two numbers, ``denoising`` cleans noisy digits, and ``sentences`` copies English through a
single vector and with attention. ``lesson`` combines them.
"""
