"""The softmax of x along ``dim``, and its gradient from the result: see softmax.cu."""

from ._launch import along

forward, backward = along("softmax", "softmax")
