"""Notebooks to read and to run: from a neuron to a translator. ``execute`` runs them and stores their outputs."""
