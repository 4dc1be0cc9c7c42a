"""The one list of names: what the families of functions define becomes ``minigrad.exp``,
``Tensor.exp`` and ``Tensor.exp_``, as the decorators of ``functions/define.py`` say.
``compat/functions`` gathers further families when the first of their names is looked up.

Type checkers read ``names.pyi`` and ``methods.pyi``, which ``python tasks.py index`` writes.
"""

from __future__ import annotations

from types import ModuleType

from .. import extension
from . import (  # noqa: F401 (all these are gathered below)
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
)
from .define import collect

# Families that few programs need, by file: each is imported when one of its names is first asked for.
LATER = {
    "typed": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
        ShortTensor set_default_tensor_type typename
    """
}

_families = [conversion.to_dtypes, *(value for value in globals().values() if isinstance(value, ModuleType))]
FREE = collect(_families)
globals().update(FREE)
extension.later(__name__, LATER)
__all__ = list(FREE | dict.fromkeys(extension.names_later(__name__)))
