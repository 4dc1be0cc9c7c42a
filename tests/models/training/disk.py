"""A failing disk: it counts each file operation of a training run, and can make it fail."""

import os
from collections.abc import Callable, Collection
from typing import Any

import pytest

from minigrad.serialization import safetensors_file

OPERATIONS = {  # operations, and the module that calls each by that name
    "replace": os,
    "fsync": os,
    "unlink": os,
    "rmdir": os,
    "ftruncate": os,
    "write": os,
    "mkdir": os,
    "chmod": os,
    "parts": safetensors_file,  # of a checkpoint, before writing
}


class Disk:
    """Counts disk operations, and makes ``length`` of them fail, starting with number ``first`` (from 0).

    Args:
        patch: the test's. fail: called instead of the operation. first, length: the operations that fail.
        halfway: the first time, do a part of the operation before failing, or all if it has no parts.
        names: the operations to count.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        fail: Callable[[str, Any], Any],
        first: float = 1e9,
        length: float = 1e9,
        halfway: bool = False,
        names: Collection[str] = OPERATIONS,
    ) -> None:
        self.count, self.first, self.length, self.fail, self.halfway = 0, first, length, fail, halfway
        self.operations: list[str] = []
        for name, module in OPERATIONS.items():
            if name not in names:
                continue
            real = getattr(module, name) if name != "fsync" else lambda handle: None  # no power failure here
            patch.setattr(module, name, self.around(name, real))

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **options: Any) -> Any:
            now, self.count = self.count, self.count + 1
            self.operations.append(name)
            if not self.first <= now < self.first + self.length:
                return real(*args, **options)
            if self.halfway and now == self.first:
                if name == "parts":
                    return self._first_parts(real(*args, **options), args)
                if name == "write":
                    real(args[0], args[1][:3])
                else:
                    real(*args, **options)
            return self.fail(name, args)

        return operation

    def _first_parts(self, parts: Any, args: Any) -> Any:
        yield from (next(parts), next(parts))
        self.fail("parts", args)
