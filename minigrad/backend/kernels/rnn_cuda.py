"""The loop of rnn.py, which CuPy runs as it is."""

from __future__ import annotations

from .rnn import backward as backward
from .rnn import forward as forward
