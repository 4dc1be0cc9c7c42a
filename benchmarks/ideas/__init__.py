"""Single ideas for speed, measured with and without: ``python -m benchmarks.ideas``."""

from . import limits, memory, not_taken, passes, threads  # each enters its ideas
