"""The loop of lstm.py, which CuPy runs as it is."""

from .lstm import backward as backward
from .lstm import forward as forward
