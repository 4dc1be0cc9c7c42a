"""Four architectures with the same number of parameters read handwritten digits: a fully-connected, a convolutional and
a recurrent network, and a transformer."""
