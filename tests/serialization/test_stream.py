"""A stream is left behind the object that was read from it."""

import gzip
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.serialization import load, save, save_file
from minigrad.serialization.stream import Stream
from tests.serialization.test_serialization import FOREIGN
from tests.support.cases import each
from tests.support.parity import torch


class Config:
    """A program's own class: what holds one is pickled."""


class Pipe:
    """A stream that only reads, a few bytes at a time."""

    def __init__(self, content: bytes, most: int = 100) -> None:
        self._file, self._most = io.BytesIO(content), most

    def read(self, size: int = -1) -> bytes:
        return self._file.read(min(size, self._most) if size >= 0 else -1)


def objects() -> list[Any]:
    """One of each form, and of no and many storages."""
    x = minigrad.arange(6.0)
    return [{"x": x, "part": x[1:]}, 5, np.array("2020-01-01", "M8[D]"), [Config(), x], minigrad.zeros(0), "", x]


def same(ours: Any, other: Any) -> None:
    assert type(ours) is type(other)
    if isinstance(other, minigrad.Tensor):
        assert ours.tolist() == other.tolist()
    elif isinstance(other, dict):
        same(ours["x"], other["x"])
    elif not isinstance(other, list):
        assert ours == other


def written(*values: Any) -> bytes:
    file = io.BytesIO()
    for value in values:
        save(value, file)
    return file.getvalue()


def test_objects_in_a_row(tmp_path: Path) -> None:
    content = b"before" + written(*objects()) + b"behind"
    with gzip.open(tmp_path / "zipped", "wb") as zipped:
        zipped.write(content)
    (tmp_path / "file").write_bytes(content)
    with gzip.open(tmp_path / "zipped", "rb") as one, (tmp_path / "file").open("rb") as two:
        for file in (io.BytesIO(content), one, two, two, Pipe(content)):
            if hasattr(file, "seek"):
                file.seek(6)
            else:
                file.read(6)
            for expected in objects():
                same(load(file, weights_only=False), expected)
            assert file.read() == b"behind"


def test_a_pipe_that_stays_open() -> None:
    """The reader waits for no byte behind the object."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        for expected in objects():
            save(expected, writer)
            same(load(reader, weights_only=False), expected)


def test_other_bytes_around(tmp_path: Path) -> None:
    x = minigrad.arange(3.0)
    save_file({"x": x}, tmp_path / "x.safetensors")
    file = io.BytesIO()
    pickle.dump("first", file)
    save({"x": x}, file)
    file.write(b"a line\n" + (tmp_path / "x.safetensors").read_bytes())
    pickle.dump("last", file)
    file.seek(0)
    assert pickle.load(file) == "first" and load(file)["x"].tolist() == [0, 1, 2]
    assert file.readline() == b"a line\n" and load(file)["x"].tolist() == [0, 1, 2]
    assert pickle.load(file) == "last"
    with pytest.raises(EOFError, match="it is empty"):
        load(file)


@pytest.mark.parametrize("is_zip", [True, False])
def test_objects_of_pytorchs(is_zip: bool) -> None:
    file, inner = io.BytesIO(), io.BytesIO()
    torch.save(torch.ones(3), inner)
    nested = torch.frombuffer(bytearray(inner.getvalue()), dtype=torch.uint8)  # with an end record of its own
    for value in (nested, [torch.arange(2), "x"], 5):
        torch.save(value, file, _use_new_zipfile_serialization=is_zip)
    file.write(b"behind")
    file.seek(0)
    assert load(file).numpy().tobytes() == inner.getvalue()
    assert load(file)[0].tolist() == [0, 1] and load(file) == 5 and file.read() == b"behind"
    once = Pipe(file.getvalue())  # which cannot go back
    assert load(once).shape == nested.shape


def test_what_is_loaded_is_its_own() -> None:
    file = io.BytesIO(written(minigrad.zeros(3), minigrad.zeros(3)))
    first, second = load(file), load(file)
    first[0] = 1
    file.seek(0)
    assert second.tolist() == load(file).tolist() == [0, 0, 0]
    assert first.untyped_storage().nbytes() == 12


def test_damage_before_another_object() -> None:
    """What follows is not taken for the rest of a truncated object, nor for the object."""
    first, second = written({"x": minigrad.arange(3.0)}), written([1, 2])
    for length in range(1, len(first)):
        with pytest.raises(RuntimeError, match="cannot load the BytesIO: it "):
            load(io.BytesIO(first[:length] + second))
    for i in range(len(first)):
        damaged = bytearray(first + second)
        damaged[i] ^= 0x41
        try:
            found = load(io.BytesIO(damaged))
        except RuntimeError as error:
            assert "cannot load the BytesIO: it " in str(error)
        else:
            assert found["x"].tolist() == [0, 1, 2]  # a byte of the padding


def test_archives_in_a_row_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(written(1, 2))
    with pytest.raises(RuntimeError, match=r"x\.pt: it is a damaged zip archive, or has something else before it"):
        load(tmp_path / "x.pt")


def test_no_more_is_read_than_makes_sense() -> None:
    """Of a stream that claims a great length, or no kind, little is read; none is allocated before it is there."""

    class Endless:
        def __init__(self, begin: bytes) -> None:
            self.begin, self.count = begin, 0

        def read(self, size: int) -> bytes:
            part = self.begin[self.count : self.count + size] or b"\x00" * size
            self.count += len(part)
            if self.count > 50_000_000:
                raise OSError("too much")
            return part

    for begin in (b"", b"\x00" * 8, b"text", b"\xff" * 8 + b"{"):
        assert len(Stream(Endless(begin)).data) < 100
    with pytest.raises(OSError, match="too much"):
        Stream(Endless(b"PK\x03\x04" + b"\xff" * 40))


def test_files_of_other_kinds_are_refused_alike(tmp_path: Path) -> None:
    path = tmp_path / "x"

    def message(f: Any, name: str) -> str:
        with pytest.raises(RuntimeError, match=r"^cannot load ") as caught:
            load(f)
        return str(caught.value).replace(name, "it", 1)

    def check(case: tuple[bytes, str]) -> None:
        content = case[0]
        path.write_bytes(content)
        pipe = os.pipe()
        os.write(pipe[1], content)
        os.close(pipe[1])
        with open(path, "rb") as file, open(pipe[0], "rb") as piped:
            for f in (io.BytesIO(content), file, piped):
                assert message(f, f"the {type(f).__name__}") == message(path, str(path))

    each(FOREIGN, check)
