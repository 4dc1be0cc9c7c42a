"""The loop of rnn.py, which CuPy runs as it is."""

from .rnn import backward as backward
from .rnn import forward as forward
