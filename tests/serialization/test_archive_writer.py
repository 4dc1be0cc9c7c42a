"""Files for PyTorch: PyTorch reads them; their structure, and the format that each path gets."""

import io
import pickle
import pickletools
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.serialization import archive_writer, load, save
from minigrad.serialization.checkpoint import _Archive
from minigrad.serialization.source import Source
from tests.support.parity import in_torch_words, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
DTYPES += ["complex128", "bfloat16", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]
PLAIN: list[Any] = [
    [None, True, False, 0, 255, 256, -1, 2**31, -(2**63), 2**100, 0.5, float("inf"), "", "é\ud800", b"", b"\xff\x00"],
    [bytearray(b""), bytearray(b"x"), 1 - 2j, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, {1, "a"}, set()],
    {"a": {1: [2, (3, {"b": None})]}, (1, "x"): "tuple", 2.5: 0},
    [OrderedDict(b=1, a=OrderedDict()), Counter("aab")],
    list(range(3000)),
]
OTHER: list[Any] = [Namespace(lr=0.1, layers=[1]), np.arange(6.0).reshape(2, 3), np.float32(2.5), np.array(["ab", "c"])]
OTHER += [defaultdict(int, {"a": 1}), defaultdict(list), frozenset({1}), range(2, 9, 3), 10**900]
TIME = np.array("2020-01-01", "M8[D]")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint.pt"


def tensors() -> dict[str, Any]:
    """A tensor of each dtype, each memory layout, and each kind."""
    x = minigrad.arange(12.0).reshape(3, 4)
    noted: Any = minigrad.ones(2)
    bias: Any = nn.Parameter(minigrad.ones(2))
    noted.note, bias.is_bias = ["n"], True
    by_dtype = {name: minigrad.arange(3).to(getattr(minigrad, name)) for name in DTYPES}
    return by_dtype | {
        "x": x,
        "T": x.T,
        "row": x[1],
        "step": x[:, ::2],
        "wide": x[:1].expand(2, 4),
        "halves": x.view(minigrad.int32)[0],
        "alone": minigrad.ones(5, 2).T,
        "number": minigrad.tensor(1.0),
        "none": minigrad.ones(0, 3),
        "leaf": minigrad.ones(2, requires_grad=True),
        "parameter": nn.Parameter(x[2]),
        "data": nn.Parameter(x[2]).data,
        "fixed": nn.Parameter(x[2], requires_grad=False),
        "noted": noted,
        "bias": bias,
        "again": x,
    }


@pytest.mark.parametrize("is_file", [False, True])
def test_pytorch_reads_tensors(is_file: bool, path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    ours, file = tensors(), io.BytesIO()
    save(ours, file if is_file else path)
    file.seek(0)
    theirs = torch.load(file if is_file else path, weights_only=True)
    assert list(theirs) == list(ours)
    for name, tensor in ours.items():
        other = theirs[name]
        assert str(other.dtype) == in_torch_words(tensor.dtype) and other.stride() == tensor.stride(), name
        assert other.tolist() == tensor.tolist() and other.requires_grad == tensor.requires_grad, name
        assert isinstance(other, torch.nn.Parameter) == isinstance(tensor, nn.Parameter), name
    assert theirs["again"] is theirs["x"] and theirs["noted"].note == ["n"] and theirs["bias"].is_bias
    theirs["x"][2, 0] = 50
    assert theirs["T"][0, 2] == theirs["step"][2, 0] == theirs["parameter"][0] == theirs["fixed"][0] == 50
    theirs["data"][1] = 60
    assert theirs["x"][2, 1] == 60


@pytest.mark.parametrize("mmap", [False, True])
def test_pytorch_maps_our_files(mmap: bool, path: Path) -> None:
    save({"w": minigrad.arange(1000.0), "n": 3}, path)
    assert torch.load(path, weights_only=True, mmap=mmap)["w"].tolist() == list(range(1000))
    assert load(path, mmap=mmap)["w"].tolist() == list(range(1000))


def test_pytorch_reads_plain_values_and_names(path: Path) -> None:
    for value in PLAIN:
        save({"value": value, "again": [value]}, path)
        for loaded in (torch.load(path, weights_only=True), load(path)):
            assert loaded["value"] == value and loaded["again"][0] is loaded["value"]
            assert list(map(type, loaded["value"])) == list(map(type, value))
    save([minigrad.float16, minigrad.device("cuda:1"), minigrad.device("cpu"), minigrad.Size([2, 3])], path)
    assert torch.load(path) == [torch.float16, torch.device("cuda", 1), torch.device("cpu"), torch.Size([2, 3])]


def test_values_that_pytorch_needs_permission_for(path: Path) -> None:
    """PyTorch names the unknown types, as with its own files, and reads them on request."""
    for value in OTHER:
        save({"w": minigrad.ones(2), "value": value}, path)
        with pytest.raises(pickle.UnpicklingError):
            torch.load(path, weights_only=True)
        np.testing.assert_equal(torch.load(path, weights_only=False)["value"], value)


def test_the_ending_decides_the_format(tmp_path: Path) -> None:
    for name in ("x.pt", "x.pth", "x.bin", "x.ckpt", "x"):
        save({"w": minigrad.ones(2)}, tmp_path / name)
        assert zipfile.is_zipfile(tmp_path / name)
    save({"w": minigrad.ones(2)}, tmp_path / "x.safetensors")
    assert not zipfile.is_zipfile(tmp_path / "x.safetensors")
    for protocol in (None, 0, 2, 3, 4, 5, -1):
        save({"w": minigrad.ones(2), "n": np.arange(2)}, tmp_path / "x.pt", pickle_protocol=protocol)
        assert load(tmp_path / "x.pt")["w"].tolist() == [1, 1]
    save(TIME, tmp_path / "time.pt")  # PyTorch has no format for it
    assert not zipfile.is_zipfile(tmp_path / "time.pt")


# Inside -----------------------------------------------------------------------------------------------------


def globals_of(content: bytes) -> set[str]:
    """The names in the pickle of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pickled = archive.read("archive/data.pkl")
    assert pickled[:2] == b"\x80\x02"
    return {str(argument) for code, argument, _ in pickletools.genops(pickled) if code.name == "GLOBAL"}


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    save(value, file)
    return file.getvalue()


def test_the_pickle_has_only_names_of_pytorchs_list() -> None:
    net = nn.Linear(3, 2)
    tied: Any = nn.Parameter(minigrad.ones(2))
    tied.note = 1
    names = globals_of(saved({"net": net.state_dict(), "parameter": tied, "net.weight": net.weight, "plain": PLAIN}))
    functions = {"_rebuild_tensor_v2", "_rebuild_parameter", "_rebuild_parameter_with_state"}
    own = {f"torch._utils {name}" for name in functions}
    others = {"torch FloatStorage", "collections OrderedDict", "collections Counter", "_codecs encode"}
    assert names == own | others | {f"__builtin__ {name}" for name in ("set", "bytearray", "complex")}


def test_records_and_their_alignment() -> None:
    content = saved([minigrad.arange(3.0), minigrad.zeros(0), minigrad.arange(5)])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        names = ["data.pkl", "byteorder", "data/0", "data/1", "data/2", "version"]
        assert archive.namelist() == [f"archive/{name}" for name in names]
        assert archive.read("archive/data/0") == np.arange(3, dtype=np.float32).tobytes()
        assert archive.read("archive/data/2") == np.arange(5).tobytes()
    opened = _Archive(Source(io.BytesIO(content)))
    assert [opened._place(info)[0] % 64 for info in opened.records.values()] == [0] * len(names)


def test_only_visible_memory_is_written_and_only_once() -> None:
    x = minigrad.zeros(1000, 100)
    assert len(saved(x[0])) < 3_000
    assert len(saved([x, x.T, x[3], x.view(100, 1000), nn.Parameter(x)])) < 410_000


def test_long_archives(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and offsets in 64-bit fields, as if 300 bytes were 4 GiB."""
    monkeypatch.setattr(archive_writer, "_LONG", 300)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 300)
    content = saved({"a": minigrad.arange(100.0), "b": minigrad.arange(3), "c": minigrad.zeros(0)})
    assert content.count(b"\xff" * 4) > 4  # instead of numbers that have a 64-bit field
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None and archive.infolist()[-1].header_offset > 300
    opened = _Archive(Source(path))
    assert {opened._place(info)[0] % 64 for info in opened.records.values()} == {0}
    for state in (load(path), torch.load(path)):
        assert state["a"].tolist() == list(range(100)) and state["b"].tolist() == [0, 1, 2]


def test_files_of_earlier_versions(tmp_path: Path) -> None:
    """They wrote safetensors under any name, and pickled tensors as arrays."""
    save({"w": minigrad.ones(2), "n": (1, None)}, tmp_path / "x.safetensors")
    (tmp_path / "x.safetensors").rename(tmp_path / "x.pt")
    state = load(tmp_path / "x.pt")
    assert state["w"].tolist() == [1, 1] and state["n"] == (1, None)
    w = minigrad.ones(2)
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"w": w, "again": [w]}, protocol=5))
        archive.writestr("archive/.minigrad", "1\n")
    state = load(tmp_path / "y.pt", weights_only=False)
    assert state["w"].tolist() == [1, 1] and state["again"][0] is state["w"]


def test_a_failure_while_writing_names_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save({"x": minigrad.ones(3)}, path)

    for *number, text in ((28, "No space left on device"), ("8 requested and 0 written",)):  # as NumPy words it
        monkeypatch.setattr(archive_writer._Sink, "write", Mock(side_effect=OSError(*number, text)))
        with pytest.raises(OSError, match=rf"\[Errno \d+\] {text}: .*checkpoint\.pt"):
            save({"x": minigrad.zeros(3)}, path)
    assert load(path)["x"].tolist() == [1, 1, 1] and list(path.parent.iterdir()) == [path]
