"""Autoencoders of digits and of sentences: what a narrow code keeps, what noise teaches, where one vector fails.

    python -m examples.autoencoder --save pages

``codes`` puts digits through two numbers, ``denoising`` cleans them, ``sentences`` copies English through one vector
and with attention; ``lesson`` joins them.
"""
