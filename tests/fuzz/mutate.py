"""Ways to spoil bytes, and plain data within them."""

from __future__ import annotations

import copy
import json
import random
import struct
import sys
from typing import Any

HOSTILE: tuple[Any, ...] = (None, True, -1, 0, 1 << 31, 1 << 63, 10**400, 1.5, 1e308, float("nan"), "", "x" * 100_000)
HOSTILE += ("../../etc/passwd", "\ud800", "\0", [], {}, [[]], {"": {}}, "(a+)+$")
_TAGS = """
    int float complex Size device dtype range dict items set tuple tensor array ndarray scalar bytes again Counter
    OrderedDict defaultdict Namespace parameter
"""
TAGS = _TAGS.split()
_ODD = (b"\0", b"\xff", b"\n", b"\t", b"{", b"[", b'"', b"9" * 400, b"\xed\xa0\x80", b"\x80\x02", b"1e999", b"-")


def spoiled(data: bytes, rng: random.Random) -> bytes:
    """A file that is cut off, has other bits, or lacks, repeats or adds a part; one to three times."""
    for _ in range(rng.randint(1, 3)):
        begin, long = rng.randrange(len(data) + 1), 1 << rng.randrange(12)
        before, part, after = data[:begin], data[begin : begin + long], data[begin + long :]
        changes = [before, part + after, before + after, before + part * 3 + after, flipped(data, rng)]
        changes += [before + middle + after for middle in (bytes(long), rng.randbytes(long), rng.choice(_ODD) + part)]
        data = rng.choice(changes)
    return data


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Some bits are others, often at the beginning, where formats say what they are."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20)) if data else 0):
        changed[rng.randrange(min(len(data), rng.choice((16, 400, 1 << 30))))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def hostile(rng: random.Random) -> Any:
    """A value that nobody expects: of another type, huge, deep, or one of the format's own tags."""
    kind = rng.random()
    if kind < 0.15:
        node: Any = rng.choice((1, {}, "x"))
        for _ in range(rng.choice((30, 150, 600))):
            node = rng.choice(([node], {"dict": {"x": node}}, {"tuple": [node]}))
        return node
    if kind < 0.25:  # each list holds the one before twice: a tree of 2ⁿ leaves
        return [[], *([{"again": i + 1}, {"again": i + 1}] for i in range(60))]
    if kind < 0.27:  # keys with one hash
        return {rng.choice(("items", "Counter")): [[{"int": hex((i + 2**70) * (2**61 - 1))}, 0] for i in range(20_000)]}
    if kind < 0.4:
        return {rng.choice(TAGS): copy.deepcopy(rng.choice((*HOSTILE, [1 << 40] * 3, "7" * 9, {"dict": {}})))}
    return copy.deepcopy(rng.choice(HOSTILE))


def changed(tree: Any, rng: random.Random) -> Any:
    """Plain data with a hostile value in one to three places, or without one of its parts."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        node, place = tree, None
        while isinstance(node, dict | list) and node and (place is None or rng.random() < 0.85):
            parent, place = node, rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
            node = parent[place]
        if place is None:
            return hostile(rng)
        if rng.random() < 0.1:
            del parent[place]
        else:
            parent[place] = hostile(rng)
    return tree


def text_of(tree: Any) -> bytes:
    """JSON, also of what is none (NaN, halves of characters), or too deep to be read."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return json.dumps(tree).encode()
    finally:
        sys.setrecursionlimit(limit)


def safetensors(data: bytes, rng: random.Random) -> bytes:
    """A file of tensors whose header, or the description in it, is changed, and has its right length again."""
    (size,) = struct.unpack("<Q", data[:8])
    header, numbers = json.loads(data[8 : 8 + size]), data[8 + size :]
    metadata = header.get("__metadata__", {})
    if "minigrad" in metadata and rng.random() < 0.8:
        metadata["minigrad"] = text_of(changed(json.loads(metadata["minigrad"]), rng)).decode()
    else:
        header = changed(header, rng)
    text = text_of(header)
    return struct.pack("<Q", len(text)) + text + numbers
