"""The loop of lstm.py, which CuPy runs as it is."""

from __future__ import annotations

from .lstm import backward as backward
from .lstm import forward as forward
