"""The loop of gru.py, which CuPy runs as it is."""

from __future__ import annotations

from .gru import backward as backward
from .gru import forward as forward
