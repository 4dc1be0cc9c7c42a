"""``torch.utils.weak``: mappings from objects, by what they are and not by what they equal, that do not keep them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]
TensorWeakRef = weakref.ref


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping whose items go when their keys do. Two keys are one where they are one object.

    Args:
        dict: a mapping to begin with. ref_type: not used.
    """

    def __init__(self, dict: Any = None, ref_type: Any = None) -> None:
        self._items: Any = {}
        self.update(dict or {})

    def __setitem__(self, key: Any, value: Any) -> None:
        items, number = self._items, id(key)
        self._items[number] = weakref.ref(key, lambda _: items.pop(number, None)), value

    def __getitem__(self, key: Any) -> Any:
        return self._items[id(key)][1]

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for reference, _ in self._items.values() if (key := reference()) is not None])

    def __len__(self) -> int:
        return len(self._items)


WeakTensorKeyDictionary = WeakIdKeyDictionary
