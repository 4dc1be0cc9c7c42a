"""Small files that describe huge values: at any position, none hangs, exhausts the memory or kills the process."""

import io
import json
import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad.serialization import load, load_file, safe_globals, save, save_file
from minigrad.serialization.source import check_shape
from minigrad_models.music import read_chorales, read_midi
from minigrad_models.schema import content
from minigrad_models.text import read_lines
from minigrad_models.training import read_checkpoint, read_log
from minigrad_models.translation.translation_settings import Settings
from tests.fuzz.pickles import BOMBS, call, legacy, number, places, replaced, text, valid, zipped
from tests.support.cases import each, raises

LONGEST = 1_500  # largest length of a message


def message(file: Any) -> str:
    """The error for a file, which must be short and name the file; "" if there is no error."""
    try:
        load(file)
    except (RuntimeError, pickle.UnpicklingError) as error:
        text, reason_ = str(error), error.__cause__
        assert (str(file) if isinstance(file, Path) else "the BytesIO") in text and len(text) < LONGEST
        assert reason_ is None or len(str(reason_)) < LONGEST
        return text
    return ""


def described(tree: str) -> io.BytesIO:
    header = json.dumps({"__metadata__": {"minigrad": f'{{"version": 2, "tree": {tree}}}'}}).encode()
    return io.BytesIO(struct.pack("<Q", len(header)) + header)


# Pickles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bomb", ["tuple doubled", "two equal ones", "range", "tensor"])
def test_positions_in_every_pickle(bomb: str) -> None:
    places_of = [(whole, place) for whole in valid() for place in places(whole)]
    errors = [message(io.BytesIO(zipped(replaced(*at, BOMBS[bomb])))) for at in places_of[::2]]
    assert len(errors) - errors.count("") > 200


def test_every_bomb_as_the_whole() -> None:
    expected = {"doubled": "repeats parts", "equal": "repeats parts", "deep": "nested too deeply", "keys": "repeats"}

    def check(bomb: str) -> None:
        for form in (zipped, legacy):
            error = message(io.BytesIO(form(b"\x80\x02" + BOMBS[bomb] + b".")))
            assert all(words in error for part, words in expected.items() if part in bomb), error

    each(BOMBS, check)


def test_the_pickles_of_these_tests_are_read() -> None:
    for whole in valid():
        error = message(io.BytesIO(zipped(whole)))
        assert error == "" or "its pickle gets the attribute 'real' of builtins.int" in error
    assert message(io.BytesIO(legacy(next(valid())))).count("storages") == 1  # the object lacks its attribute


def test_small_pickles_copy_little() -> None:
    """A text, dict or list with many references is not copied each time."""
    store, get = b"q\x01", b"h\x01"
    for start, again in (
        (text("x" * 100_000), b"cbuiltins\nbytearray\n" + get + text("latin1") + b"\x86R"),
        (text("x" * 100_000), b"c_codecs\nencode\n" + get + b"\x85R"),
        (b"](" + b"K\0" * 10_000 + b"e", b"cbuiltins\nset\n" + get + b"\x85R"),
        (b"}(" + b"".join(number(i) + b"N" for i in range(10_000)) + b"u", b"ccollections\nCounter\n" + get + b"\x85R"),
    ):
        assert message(io.BytesIO(zipped(b"\x80\x02" + start + store + again + b"."))) == ""
        repeated = b"\x80\x02(" + start + store + again * 100 + b"t."
        assert "repeats parts too often" in message(io.BytesIO(zipped(repeated)))


def test_lengths_without_end() -> None:
    """Calls that iterate accept only lists, dicts and tuples, whose items are in the file."""
    huge = BOMBS["tensor"]  # of 2⁵⁰ rows, in 8 bytes
    for kind in ("builtins.set", "builtins.frozenset", "collections.Counter", "collections.OrderedDict"):
        for what in (huge, BOMBS["range"]):
            error = message(io.BytesIO(zipped(b"\x80\x02" + call(kind, what) + b".")))
            assert "from a Tensor" in error or "from a range" in error or "no array can have" in error


class Fussy:
    """An allowed class that prints and hashes its arguments."""

    def __init__(self, *args: Any) -> None:
        raise ValueError(f"{args!r} {hash(args)}")


def test_an_allowed_class_gets_nothing_endless() -> None:
    pickled = b"\x80\x02" + call(f"{__name__}.Fussy", BOMBS["tuple doubled"]) + b"."
    with safe_globals([Fussy]):
        assert "repeats parts: more than" in message(io.BytesIO(zipped(pickled)))
        assert "(1,)" in message(io.BytesIO(zipped(b"\x80\x02" + call(f"{__name__}.Fussy", b"K\1") + b".")))


# Descriptions, headers, indices ---------------------------------------------------------------------------------


TREES = [
    ("[[]" + "".join(f', [{{"again": {i + 1}}}, {{"again": {i + 1}}}]' for i in range(60)) + "]", "repeats parts"),
    ("[" * 100_000 + "]" * 100_000, "recursion"),
    (json.dumps({"device": "x" * 100_000}), "is not a device"),
    (json.dumps({"device": ["cpu"]}), "the arguments of a device are not a name"),
    (json.dumps({"device": "cuda:" + "1" * 100}), "is not a device"),
    (json.dumps({"dtype": "x" * 100_000}), "is not a dtype"),
    (json.dumps({"x" * 100_000: 1}), "an invalid description"),
    (json.dumps({"Size": ["x"]}), "a Size contains values that are not integers"),
    (json.dumps({"ndarray": {"dtype": "<i4", "shape": [0, 1 << 62], "data": ""}}), "a shape"),
    (json.dumps({"ndarray": {"dtype": "<i4", "shape": [1] * 65, "data": "AAAAAA=="}}), "a shape"),
    (json.dumps({"int": "x" * 100_000}), "an invalid description"),
    (json.dumps({"OrderedDict": [], "attributes": [["x" * 100_000, 1], ["keys", 1]]}), "would replace an attribute of"),
]


def test_descriptions() -> None:
    def check(case: tuple[str, str]) -> None:
        assert case[1] in message(described(case[0]))

    each(TREES, check)


def test_a_chain_of_defaultdicts() -> None:
    """Python would overflow its stack while freeing them."""
    chain = ", ".join(f'{{"defaultdict": null, "items": [[0, {{"again": {i}}}]]}}' for i in range(1, 60_000))
    assert "nested too deeply" in message(described(f'[{{"defaultdict": null, "items": []}}, {chain}]'))


def test_bytes_with_many_references(tmp_path: Path) -> None:
    save({"w": b"x" * 100_000}, tmp_path / "x.safetensors")
    data = (tmp_path / "x.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    name = next(name for name in json.loads(data[8 : 8 + size]) if name != "__metadata__")
    tree = json.dumps([{"bytes": {"array": name}}] * 1_000)
    header = json.loads(data[8 : 8 + size]) | {"__metadata__": {"minigrad": f'{{"version": 2, "tree": {tree}}}'}}
    encoded = json.dumps(header).encode()
    assert "too often" in message(io.BytesIO(struct.pack("<Q", len(encoded)) + encoded + data[8 + size :]))


def test_shapes_of_headers() -> None:
    def check(shape: Any) -> None:
        header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
        assert "'w' has a shape" in message(io.BytesIO(struct.pack("<Q", len(header)) + header))
        with pytest.raises(ValueError, match="a shape"):
            check_shape(shape, 4)

    large = [[0, 1 << 62], [0, 1 << 63], [0, 1 << 70], [1 << 70, 0], [1 << 62] * 100_000]
    each([*large, [1] * 65, [1] * 1_000, [-1, 0], "12"], check)


def test_devices_of_a_megabyte() -> None:
    for args in (text("x" * 1_000_000), text("cuda") + number(1 << 8_000_000)):
        assert message(io.BytesIO(zipped(b"\x80\x02" + call("torch.device", args) + b".")))


def test_names_of_a_megabyte() -> None:
    long = "x" * 1_000_000
    header = json.dumps({long: {"dtype": "V9", "shape": [0], "data_offsets": [0, 0]}}).encode()
    assert "of dtype V9" in message(io.BytesIO(struct.pack("<Q", len(header)) + header))
    for pickled in (f"ctorch\n{long}\n.", f"c{long}\nx\n.", f"ctorch\n{long[:5_000]}\n."):
        assert message(io.BytesIO(zipped(b"\x80\x02" + pickled.encode())))


def test_names_of_shards(tmp_path: Path) -> None:
    index = tmp_path / "model.index.json"
    (tmp_path / "again").write_text(json.dumps({"weight_map": {"w": "again"}}))
    for name in ("x\0y", "\ud800", "", ".", "..", "a/b", "x" * 300, 1, None, ["x"], "again"):
        index.write_text(json.dumps({"weight_map": {"w": name}}))
        assert message(index), name


# Files --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of POSIX's")
def test_devices_and_streams(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    assert all("is a device" in message(path) for path in (Path("/dev/zero"), Path("/dev/urandom"), link))
    with open("/dev/zero", "rb") as file, pytest.raises(RuntimeError, match="it is a device"):
        load(file)
    with pytest.raises(ValueError, match="is a folder, a device or a pipe"):
        content("/dev/zero", 100)
    assert "/dev/null: it is a device" in message(Path("/dev/null"))
    index = tmp_path / "x.index.json"
    index.write_text('{"weight_map": {"w": "link"}}')
    with pytest.raises(RuntimeError, match=r"link: it is a device"):
        load(index)
    if Path("/proc/self/mem").exists():
        for reader in (read_midi, read_chorales, read_log, lambda path: list(read_lines(Path(path)))):
            with pytest.raises(OSError, match="/proc/self/mem"):
                reader("/proc/self/mem")
        assert "/proc/self/maps: it is empty" in message(Path("/proc/self/maps"))
        with pytest.raises(ValueError, match="/proc/self/maps has no known size"):
            list(read_lines(Path("/proc/self/maps")))


def test_names_and_sizes_that_are_too_long(tmp_path: Path) -> None:
    for reader in (load, load_file, lambda path: content(path, 9), lambda path: list(read_lines(Path(path)))):
        raises(OSError, r"too long: 'x{200}'", lambda reader=reader: reader("x" * 100_000))
        for path in ("x\0y", "\ud800"):
            words = r"No file can have that name: '(x\\x00y|\\ud800)'"
            raises(FileNotFoundError, words, lambda reader=reader, path=path: reader(path))
    (tmp_path / "x").write_bytes(b"12345")
    assert content(tmp_path / "x", 5) == b"12345"
    raises(ValueError, "is larger than", lambda: content(tmp_path / "x", 4))
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 42)
    with pytest.raises((OSError, RuntimeError), match="sparse"):
        load(tmp_path / "sparse")
    with pytest.raises(ValueError, match="sparse is larger than 1024 MiB"):
        read_log(tmp_path / "sparse")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe of POSIX's")
def test_a_pipe_with_a_name_is_not_opened(tmp_path: Path) -> None:
    pipe, shard = tmp_path / "pipe", tmp_path / "x.index.json"
    os.mkfifo(pipe)
    shard.write_text('{"weight_map": {"w": "pipe"}}')
    readers: list[Any] = [
        load,
        load_file,
        lambda path: content(path, 9),
        lambda path: list(read_lines(path)),
        read_midi,
        read_chorales,
        read_log,
    ]
    readers += [lambda path: load(path, mmap=True), lambda path: load(path, weights_only=False), lambda _: load(shard)]
    readers += [lambda path: minigrad.UntypedStorage.from_file(str(path), nbytes=9), read_checkpoint, Settings.read]
    for reader in readers:
        with pytest.raises((RuntimeError, ValueError), match=r"pipe\b.* is a (folder, a )?device or a pipe"):
            reader(pipe)  # it has no writer


# The checksum of a file ---------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.byteorder != "little", reason="the sum is of little-endian numbers")
def test_each_flipped_bit_is_noticed(tmp_path: Path) -> None:
    state = {"w": minigrad.arange(3.0), "b": minigrad.tensor([True, False]), "n": {"lr": 0.1, "x": [1, "two"]}}
    save(state, tmp_path / "state.safetensors")
    save_file({"w": minigrad.arange(3.0), "b": minigrad.ones(2).bfloat16()}, tmp_path / "file.safetensors")
    large = {"w": minigrad.arange(50_000.0), "tail": minigrad.ones(3, dtype=minigrad.uint8)}
    save_file(large, tmp_path / "large.safetensors", {"by": "a test"})
    for path in tmp_path.iterdir():
        whole = path.read_bytes()
        assert message(io.BytesIO(whole)) == ""
        for bit in range(0, 8 * len(whole), 1 if len(whole) < 10_000 else 100_003):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            assert message(io.BytesIO(flipped)), f"bit {bit} of {path.name}"
