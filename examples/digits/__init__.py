"""Four architectures on one task: a fully-connected, a convolutional and a recurrent network and a transformer, with
the same number of parameters, read handwritten digits."""
