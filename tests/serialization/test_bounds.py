"""Keys of dicts and members of sets that a file may have, and ones that would take forever."""

import io
import json
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest

from minigrad.serialization import load, save
from minigrad.serialization.allowed import Bounds, hashed
from tests.serialization.test_bombs import described
from tests.serialization.test_machine import archive
from tests.support.cases import each

MANY = 3_000
MODULUS = sys.hash_info.modulus  # 2⁶¹ - 1; on a 32-bit system 2³¹ - 1
ALIKE = {
    "huge integers": [(i + 2**70) * MODULUS for i in range(MANY)],
    "complex numbers": [complex(-1000003 * i, i) for i in range(MANY)],
    "tuples": [((i + 2**70) * MODULUS, "x") for i in range(MANY)],
}


def node_of(key: Any) -> Any:
    if isinstance(key, tuple):
        return {"tuple": [node_of(part) for part in key]}
    if isinstance(key, complex):
        return {"complex": [repr(key.real), repr(key.imag)]}
    return {"int": hex(key)} if isinstance(key, int) else key


def refused(file: io.BytesIO) -> None:
    with pytest.raises(RuntimeError, match=r"keys of a dict or set share a hash, which would take quadratic time"):
        load(file)


def test_one_key() -> None:
    wide = [1, "x", (1, (2, frozenset({3}))), (), tuple(range(1000)), 1 << 10_000]
    assert hashed(wide, Bounds()) > 1000
    nested: Any = ()
    for _ in range(60):
        nested = (nested,)
    with pytest.raises(ValueError, match="a key has too many nested tuples"):
        hashed([nested], Bounds())
    with pytest.raises(ValueError, match="an integer key has 100,001 bits"):
        hashed([1 << 100_000], Bounds())


def test_keys_of_one_hash_in_a_description() -> None:
    tags = ["items", "OrderedDict", "Counter", "defaultdict", "SimpleNamespace", "set", "frozenset"]

    def check(case: tuple[str, str]) -> None:
        kind, tag = case
        keys = [node_of(key) for key in ALIKE[kind]]
        parts = keys if tag in ("set", "frozenset") else [[key, 0] for key in keys]
        refused(described(json.dumps({tag: None, "items": parts} if tag == "defaultdict" else {tag: parts})))

    each(product(ALIKE, tags), check)
    keys = [[node_of(key), 0] for key in ALIKE["huge integers"]]
    refused(described(json.dumps({"OrderedDict": [], "attributes": keys})))


def of_zeros(keys: list[Any]) -> bytes:
    """A pickle of a dict with some keys, created without the dict itself."""
    inside = b"".join(pickle.dumps(key, 2)[2:-1] + b"K\0" for key in keys)
    return b"\x80\x02}(" + inside + b"u."


def called(module: str, name: str, keys: list[Any], pairs: bool) -> bytes:
    """A pickle that calls a class with a list of keys, or of pairs of keys and 0."""
    inside = pickle.dumps([(key, 0) for key in keys] if pairs else keys, 2)[2:-1]
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + inside + b"\x85R."


def test_keys_of_one_hash_in_a_pickle() -> None:
    keys = ALIKE["huge integers"]
    refused(archive(of_zeros(keys)))
    one_by_one = b"".join(pickle.dumps(key, 2)[2:-1] + b"K\0s" for key in keys)
    refused(archive(b"\x80\x02}" + one_by_one + b"."))
    members = b"".join(pickle.dumps(key, 2)[2:-1] for key in keys)
    refused(archive(b"\x80\x04\x8f(" + members + b"\x90."))
    refused(archive(b"\x80\x04(" + members + b"\x91."))
    for name in ("OrderedDict", "Counter"):
        refused(archive(called("collections", name, keys, pairs=True)))
    for name in ("set", "frozenset"):
        refused(archive(called("builtins", name, keys, pairs=False)))


def test_many_keys_that_are_no_attack() -> None:
    """Up to eight 64-bit integers share a hash, and a few dozen floating-point numbers."""
    rng = np.random.default_rng(0)
    for keys in (
        [i * (2**61 - 1) + j for j in range(1000) for i in range(-4, 5) if -(2**63) <= i * (2**61 - 1) + j < 2**63],
        [2.0 ** (i % 2000 - 1000) * (1 + i // 2000) for i in range(5_000)],
        [int.from_bytes(rng.bytes(16), "little") for _ in range(3_000)],
        [(int(a), int(b)) for a, b in rng.integers(0, 300, (1_000, 2))],
        list(range(5_000)),
        [f"word {i}" for i in range(1_000)],
    ):
        content: Any = {
            "dict": dict.fromkeys(keys, 1),
            "set": set(keys),
            "more": [OrderedDict.fromkeys(keys, 1), Counter(keys), defaultdict(int, dict.fromkeys(keys, 2))],
            "frozen": frozenset(keys),
        }
        file = io.BytesIO()
        save(content, file)
        file.seek(0)
        assert load(file) == load(archive(pickle.dumps(content, 4))) == content
