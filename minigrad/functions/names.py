"""Collects all names. Functions in these modules become ``minigrad.exp``, ``Tensor.exp`` and ``Tensor.exp_``, as the
decorators in ``functions/define.py`` specify. ``compat/functions`` adds others when first used.

Type checkers read ``names.pyi`` and ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from types import ModuleType

from . import (  # noqa: F401 (all these are collected below)
    comparison,
    conversion,
    creation,
    indexing,
    linalg,
    operators,
    pointwise,
    printing,
    random,
    reduction,
    shaping,
    typed,
)
from .define import collect

_families = [conversion.to_dtypes, *(value for value in globals().values() if isinstance(value, ModuleType))]
FREE = collect(_families)
globals().update(FREE)
__all__ = list(FREE)
