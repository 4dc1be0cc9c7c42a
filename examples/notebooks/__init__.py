"""Notebooks to read and run: from a neuron to a translator. ``execute`` runs them and stores their outputs."""
