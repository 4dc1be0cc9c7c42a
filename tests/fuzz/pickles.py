"""Valid pickles, the positions in them, and hostile values to insert."""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

import minigrad as mg

LEVELS, DEEP, WIDE = 45, 100_000, 500_000
_SLOT = struct.pack("<I", 1 << 30)  # in the memo
_PUT, _GET, _POP = b"r" + _SLOT, b"j" + _SLOT, b"0"


def text(value: str) -> bytes:
    """The instruction for a text."""
    raw = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def name(full: str) -> bytes:
    """The instruction for a name."""
    module, _, attribute = full.rpartition(".")
    return f"c{module}\n{attribute}\n".encode()


def call(function: str, *args: bytes) -> bytes:
    """The instructions of a call."""
    return name(function) + b"(" + b"".join(args) + b"tR"


def number(value: int) -> bytes:
    """The instruction for an integer."""
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8b" + struct.pack("<I", len(raw)) + raw


def doubled(start: bytes, join: bytes, levels: int = LEVELS) -> bytes:
    """A value that contains another twice, which contains another twice, and so on."""
    return start + _PUT + (_POP + join + _PUT) * levels


def deep(kind: str, levels: int = DEEP) -> bytes:
    """A defaultdict (or the like) within another, and so on."""
    return name(kind) + _PUT + _POP + (_GET + b")RK\0") * levels + b"N" + b"s" * levels


_TWICE = doubled(b")", _GET + _GET + b"\x86")
_SHORTER = doubled(b")", _GET + _GET + b"\x86", 14)
BOMBS: dict[str, bytes] = {
    "tuple doubled": _TWICE,
    "list doubled": doubled(b"]", b"](" + _GET + _GET + b"e"),
    "dict doubled": doubled(b"}", b"}(K\0" + _GET + b"K\1" + _GET + b"u"),
    "defaultdict doubled": doubled(b"}", call("collections.defaultdict") + b"(K\0" + _GET + b"K\1" + _GET + b"u"),
    "tuple in a list": b"]" + _TWICE + b"a",
    "two equal ones": b"(" + _TWICE + _POP + _POP + b"(" + _TWICE + _TWICE + b"t",
    "tuple deep": b"N" + b"\x85" * DEEP,
    "list deep": b"]" * DEEP + b"a" * (DEEP - 1),
    "dict deep": b"}K\0" * DEEP + b"N" + b"s" * DEEP,
    "defaultdict deep": deep("collections.defaultdict"),
    "defaultdict deep from within": call("collections.defaultdict") + _PUT
    + (_POP + call("collections.defaultdict") + b"K\0" + _GET + b"s" + _PUT) * 5_000,
    "defaultdict deep from without": call("collections.defaultdict") + _PUT
    + (b"K\0" + call("collections.defaultdict") + _PUT + b"s" + _POP + _GET) * 5_000,
    "OrderedDict deep": deep("collections.OrderedDict"),
    "tuple wide": b"(" + b"K\0" * WIDE + b"t",
    "list wide": b"](" + b"K\0" * WIDE + b"e",
    "list of itself": b"]" + _PUT + _GET + b"a",
    "dict of itself": b"}" + _PUT + b"K\0" + _GET + b"s",
    "tuple of itself": b"]" + _PUT + _GET + b"\x85a\x85",
    "text": text("x" * WIDE),
    "text of NUL and a half": text("\0\ud800"),
    "integer": number(1 << 800_000),
    "name": name("torch." + "x" * WIDE),
    "range": call("builtins.range", number(1 << 60)),
    "keys": b"}" + _SHORTER + _POP + b"".join(_GET + number(i) + b"\x86N" + b"s" for i in range(3_000)),
    "text array": call(
        "numpy._core.multiarray._reconstruct", name("numpy.ndarray"), b"K\0\x85", text("b")
    )
    + b"(K\1" + number(1 << 40) + b"\x85" + call("numpy.dtype", text("U0")) + b"\x89" + text("") + b"tb",
    "tensor": call("torch._utils._rebuild_tensor_v2",
        b"(" + text("storage") + name("torch.FloatStorage") + text("0") + text("cpu") + b"K\2tQ",
        b"K\0", number(1 << 50) + b"K\2\x86", b"K\0K\0\x86", b"\x89", b"}"),
}  # fmt: skip


def _objects() -> list[Any]:
    """One object of each type that a file may contain."""
    ordered = OrderedDict(a=1)
    ordered.note = [2]  # type: ignore[attr-defined]
    numbers = [1, -2, 2**70, 0.5, 1 + 2j, True, None, np.float32(2.5), np.int64(3), np.bool_(True)]
    arrays = [np.arange(6.0).reshape(2, 3).T, np.array(["ab", "c"]), np.arange(3, dtype=">i2"), np.ones((0, 2))]
    sets = [{1, "a"}, frozenset({(1, 2)}), Counter("aab"), defaultdict(list, a=[1]), {(1, "x"): None}]
    spaces = [Namespace(a=1), SimpleNamespace(a=[1]), b"x", bytearray(b"x"), range(3), "x", [1, (2,)], {"a": {}}]
    return [*numbers, *arrays, *sets, *spaces, mg.float32, mg.device("cpu"), mg.Size([2]), ordered]


def _by_hand() -> list[bytes]:
    """Pickles as PyTorch writes them, and rare instructions."""
    storage = b"(" + text("storage") + name("torch.FloatStorage") + text("0") + text("cpu") + b"K\2NtQ"
    layout = (b"K\0", b"K\2\x85", b"K\1\x85")
    tensor = call("torch._utils._rebuild_tensor_v2", storage, *layout, b"\x89", b"}")
    function = name("torch._utils._rebuild_tensor_v2") + name("torch.Tensor")
    arguments = b"(" + storage + b"".join(layout) + b"\x89}t"
    return [
        tensor,
        call("torch._utils._rebuild_tensor", storage, *layout),
        call("torch._utils._rebuild_tensor_v3", storage, *layout, b"\x89", b"}", name("torch.int16"), b"}"),
        call("torch._utils._rebuild_parameter", tensor, b"\x88", b"}"),
        call("torch._utils._rebuild_parameter_with_state", tensor, b"\x88", b"}", b"}" + text("a") + b"K\1s"),
        name("torch._tensor._rebuild_from_type_v2") + b"(" + function + arguments + b"}" + text("a") + b"K\1stR",
        call("torch.device", text("cuda"), b"K\0"),
        call("torch.Size", b"](K\1K\2e"),
        call("copyreg._reconstructor", name("argparse.Namespace"), name("builtins.object"), b"N")
        + b"}" + text("a") + b"K\1sb",
        call("builtins.getattr", name("builtins.int"), text("real")),
        call("_codecs.encode", text("x"), text("latin1")),
        call("minigrad.backend.dtype.named", text("float32")),
        call("builtins.bytearray", text("x"), text("latin-1")),
        name("collections.OrderedDict") + b")\x81}" + text("a") + b"K\1sb",
        name("argparse.Namespace") + b")}\x92}" + text("a") + b"K\1sb",
    ]  # fmt: skip


def valid() -> Iterator[bytes]:
    """Pickles that need no memo, so that a bomb may use it."""
    for protocol in (2, 5):
        for obj in _objects():
            buffer = io.BytesIO()
            pickler = pickle.Pickler(buffer, protocol, fix_imports=False)
            pickler.fast = True
            pickler.dump(obj)
            yield buffer.getvalue()
    for instructions in _by_hand():
        yield b"\x80\x02" + instructions + b"."


def places(pickled: bytes) -> list[int]:
    """The positions in a pickle after which a value is on the stack."""
    every = list(pickletools.genops(pickled))
    ends = [position or 0 for _, _, position in every[1:]]
    return [
        end
        for (operation, _, _), end in zip(every, ends, strict=False)
        if operation.stack_after and operation.stack_after[-1] is not pickletools.markobject
    ]


def replaced(pickled: bytes, place: int, bomb: bytes) -> bytes:
    """The pickle with another value at a position. Frames are dropped, as their lengths would be wrong."""
    return pickled[:place] + _POP + bomb + pickled[place:]


def zipped(pickled: bytes) -> bytes:
    """A checkpoint in PyTorch's format."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", bytes(8))
    return buffer.getvalue()


def legacy(pickled: bytes) -> bytes:
    """A checkpoint in the format before PyTorch 1.6."""
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    return b"".join([*head, pickled, pickle.dumps(["0"], 2), struct.pack("<Q", 2), bytes(8)])
