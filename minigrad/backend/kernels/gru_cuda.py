"""The loop of gru.py, which CuPy runs as it is."""

from .gru import backward as backward
from .gru import forward as forward
