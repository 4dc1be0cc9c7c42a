"""The logarithm of softmax along ``dim``, and its gradient from the result: see softmax.cu."""

from ._launch import along

forward, backward = along("softmax", "log_softmax")
