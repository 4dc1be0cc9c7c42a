"""PyTorch's functions, by family: arguments as PyTorch takes them, then one op. ``define.py`` says how to write one."""

from . import (
    comparison,
    complex,
    conversion,
    creation,
    dtypes,
    indexing,
    inplace,
    linalg,
    memory,
    pointwise,
    random,
    reduction,
    shaping,
    special,
    statistics,
    typed,
    windows,
)
