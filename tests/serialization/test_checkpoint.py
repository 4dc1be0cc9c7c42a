"""PyTorch's checkpoints, both zip archives and legacy files: read as PyTorch reads them, without running code."""

import argparse
import io
import pickle
import random
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.serialization import load, safe_globals, save
from tests.fuzz.pickles import call, number, text
from tests.support.cases import each
from tests.support.parity import host, in_torch_words, torch

KINDS = ["zip", "legacy"]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
GRADIENTS = ["float16", "float32", "float64", "complex64", "complex128"]


def by_torch(obj: Any, kind: str = "zip", protocol: int = 2) -> io.BytesIO:
    """A checkpoint that PyTorch wrote."""
    buffer = io.BytesIO()
    torch.save(obj, buffer, pickle_protocol=protocol, _use_new_zipfile_serialization=kind == "zip")
    buffer.seek(0)
    return buffer


class Config:
    """A user-defined class."""

    def __init__(self) -> None:
        self.width = 3


# Files written by PyTorch -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "trusted"), [("zip", False), ("zip", True), ("legacy", False)])
def test_dtypes(kind: str, trusted: bool) -> None:
    def check(dtype: Any) -> None:
        tensors = [torch.arange(-2, 4).reshape(2, 3).to(dtype), torch.zeros(0, 2, dtype=dtype)]
        tensors.append(torch.tensor(1, dtype=dtype))
        for ours, theirs in zip(load(by_torch(tensors, kind), weights_only=not trusted), tensors, strict=True):
            assert type(ours) is minigrad.Tensor and in_torch_words(ours.dtype) == str(theirs.dtype)
            np.testing.assert_array_equal(ours.double().numpy(), theirs.double().numpy())

    each([getattr(torch, name) for name in DTYPES if name != "bfloat16" or minigrad.bfloat16.is_available], check)


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_without_its_package_is_float32(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    saved = torch.tensor([0.1, -3e38, float("inf")]).bfloat16()
    ours = load(by_torch({"x": saved, "p": torch.nn.Parameter(saved[1:])}, kind))
    assert ours["x"].dtype is ours["p"].dtype is minigrad.float32 and ours["p"].requires_grad
    assert ours["x"].tolist() == saved.tolist() and ours["p"].tolist() == saved[1:].tolist()


@pytest.mark.parametrize(("kind", "trusted"), [("zip", True), ("legacy", False)])
def test_views_ties_and_flags(kind: str, trusted: bool) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    leaf = torch.ones(2, requires_grad=True)
    values = {
        "x": x,
        "T": x.T,
        "row": x[1],
        "step": x[:, ::2],
        "wide": x[0].expand(2, 4),
        "leaf": leaf,
        "made": leaf * 2,
        "p": torch.nn.Parameter(x[2]),
        "fixed": torch.nn.Parameter(x[2], requires_grad=False),
    }
    state = load(by_torch(values, kind), weights_only=not trusted)
    for name, theirs in values.items():
        ours = state[name]
        assert ours.stride() == theirs.stride() and ours.is_leaf
        assert ours.requires_grad == theirs.requires_grad
        assert isinstance(ours, nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        np.testing.assert_array_equal(host(ours), host(theirs))
    state["x"][1, 2] = 77
    assert state["T"][2, 1].item() == state["row"][2].item() == state["step"][1, 1].item() == 77
    state["x"][2, 0] = 78
    assert state["p"][0].item() == state["fixed"][0].item() == 78
    (state["x"] * state["p"]).sum().backward()


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_of_tensors(kind: str) -> None:
    x, p = torch.ones(2), torch.nn.Parameter(torch.ones(2))
    x.note, p.is_bias = ["n"], True
    tensors = load(by_torch([x, p], kind))
    assert tensors[0].note == ["n"] and tensors[1].is_bias and type(tensors[1]) is nn.Parameter
    p.array = "the engine's own"
    with pytest.raises(RuntimeError, match="the attribute 'array' would replace an attribute of Parameter"):
        load(by_torch(p, kind))


@pytest.mark.parametrize(("kind", "protocol"), [("zip", 2), ("legacy", 3), ("zip", 4), ("legacy", 5)])
def test_values(kind: str, protocol: int) -> None:
    values = {
        "plain": [None, True, -1, 2**70, -(2**70), 0.5, -np.inf, "é", b"\xff", bytearray(b"x"), 1 + 2j, (1,), (), {}],
        "sets": [{1, "a"}, set(), frozenset({(1, 2)})],
        "dicts": [OrderedDict(a=1), Counter("aab"), defaultdict(list, a=[1]), {1: 2, (1, "x"): None}],
        "spaces": [argparse.Namespace(lr=0.1, n=[1]), SimpleNamespace(a=1)],
        "numpy": [
            *(np.arange(6.0).reshape(2, 3).T, np.float32(2.5), np.int64(3), np.array(["ab", "c"]), np.ones((0, 2))),
            *(np.bool_(True), np.array(4), np.arange(3, dtype=">i2")),
        ],
        "states": [random.getstate(), np.random.RandomState(3).get_state(legacy=False)],
    }
    values["shared"] = values["plain"]
    state = load(by_torch(values, kind, protocol))
    assert state["shared"] is state["plain"]
    for name in ("plain", "sets", "dicts", "spaces"):
        assert state[name] == values[name], name
        assert [type(v) for v in state[name]] == [type(v) for v in values[name]]
    for ours, theirs in zip(state["numpy"], values["numpy"], strict=True):
        assert type(ours) is type(theirs) and ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_array_equal(ours, theirs)
    assert state["states"][0] == values["states"][0]
    names = {"dtype": torch.float16, "device": torch.device("cuda", 1), "size": torch.Size([2, 3])}
    state = load(by_torch(names, kind, protocol))
    assert state["dtype"] is minigrad.float16 and state["device"] == minigrad.device("cuda:1")
    assert type(state["size"]) is minigrad.Size and state["size"] == (2, 3)


def test_files_paths_and_maps(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"x": torch.arange(5.0), "h": torch.ones(3).bfloat16(), "b": torch.tensor([True])}, path)
    before = path.read_bytes()
    for mmap in (False, True):
        for file in (path, str(path)):
            state = load(file, mmap=mmap)
            state["x"][0] = 9
            assert state["x"].tolist() == [9, 1, 2, 3, 4] and state["h"].tolist() == [1, 1, 1] and state["b"].all()
    assert path.read_bytes() == before


# map_location -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_map_location(kind: str, device: str) -> None:
    w = torch.arange(6.0).reshape(2, 3)
    values = {"w": w, "tied": w.detach(), "T": w.T, "p": torch.nn.Parameter(w), "i": torch.arange(3)}
    where: list[Any] = [
        device,
        minigrad.device(device),
        {"cpu": device},
        lambda storage, location: minigrad.device(device),
    ]
    for map_location in where:
        state = load(by_torch(values, kind), map_location=map_location)
        for name, theirs in values.items():
            assert state[name].device.type == device
            np.testing.assert_array_equal(host(state[name]), host(theirs))
        with minigrad.no_grad():
            state["w"][0, 0] = 5
        assert state["tied"][0, 0].item() == 5 and state["p"][0, 0].item() == 5
    for map_location in (
        None,
        "cpu",
        {"cuda:0": "cpu"},
        {},
        lambda storage, location: storage,
        lambda storage, location: None,
        lambda storage, location: storage.cpu(),
    ):
        assert load(by_torch(values, kind), map_location=map_location)["w"].device.type == "cpu"


def test_tensors_saved_on_a_device_that_is_not_available() -> None:
    content = by_torch(torch.ones(2)).getvalue()
    pickled = zipfile.ZipFile(io.BytesIO(content)).read("archive/data.pkl")
    moved = pickled.replace(b"X\x03\x00\x00\x00cpu", b"X\x07\x00\x00\x00cuda:77")
    assert moved != pickled
    calls = []

    def where(storage: Any, location: str) -> Any:
        calls.append((location, storage.nbytes()))
        return storage

    tensor = load(archive(moved, {"0": np.ones(2, np.float32).tobytes()}))
    assert tensor.device.type == "cpu" and tensor.tolist() == [1, 1]
    assert load(archive(moved, {"0": bytes(8)}), map_location=where).tolist() == [0, 0]
    assert calls == [("cuda:77", 8)]


def test_conjugates_and_negatives_are_refused() -> None:
    z = torch.ones(3, dtype=torch.complex64)
    for tensor in (z.conj(), torch._neg_view(z), torch.nn.Parameter(z.conj())):
        with pytest.raises(RuntimeError, match=r"a lazily conjugated or negated tensor: save x\.resolve_conj"):
            load(by_torch(tensor))


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_that_may_require_a_gradient(kind: str, tmp_path: Path) -> None:
    def check(dtype: str) -> None:
        x = torch.ones(2).to(getattr(torch, dtype))
        theirs = {"tensor": x.clone().requires_grad_(), "parameter": torch.nn.Parameter(x)}
        loaded = load(by_torch(theirs, kind))
        endings = ["pt"] if dtype == "complex128" else ["pt", "safetensors"]  # which the legacy format cannot store
        files = [tmp_path / f"x.{ending}" for ending in endings]
        for file in files:
            save(loaded, file)
        for again in (loaded, *map(load, files)):
            assert str(again["tensor"].dtype) == f"minigrad.{dtype}"
            assert again["tensor"].requires_grad and again["tensor"].tolist() == theirs["tensor"].tolist()
            assert type(again["parameter"]) is nn.Parameter and again["parameter"].requires_grad

    each(GRADIENTS, check)


# Refused files ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_pytorchs_and_of_programs(kind: str) -> None:
    module = by_torch(torch.nn.Linear(2, 2), kind)
    for trusted in (False, True):
        module.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear.*state_dict\(\)"):
            load(module, weights_only=not trusted)
    with pytest.raises(pickle.UnpicklingError, match=r"\.Config.*weights_only=False.*safe_globals\(\[Config\]\)"):
        load(by_torch({"c": Config()}, kind))
    assert load(by_torch({"c": Config()}, kind), weights_only=False)["c"].width == 3
    with safe_globals([Config]):
        assert load(by_torch({"c": Config()}, kind))["c"].width == 3


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")  # a warning of PyTorch's
def test_formats_that_minigrad_lacks() -> None:
    for value, message in (
        (torch.ones(2, dtype=torch.complex32), r"torch\.complex32"),
        (torch.eye(2).to_sparse(), r"_rebuild_sparse_tensor.*dense tensors"),
    ):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
            load(by_torch(value))


def test_a_class_that_no_longer_exists() -> None:
    with pytest.raises(AttributeError, match=r"Gone.*define or import it before loading"):
        load(archive(b"\x80\x02" + call(f"{__name__}.Gone") + b"."), weights_only=False)


# Archives that were tampered with ---------------------------------------------------------------------------


def archive(
    pickled: bytes,
    storages: dict[str, bytes] | None = None,
    extra: dict[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> io.BytesIO:
    """A handmade checkpoint."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as writer:
        writer.writestr("archive/data.pkl", pickled)
        for key, value in (storages or {}).items():
            writer.writestr(f"archive/data/{key}", value)
        for name, value in (extra or {}).items():
            writer.writestr(name, value)
    buffer.seek(0)
    return buffer


def tuple_of(numbers: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(number, numbers)) + b"t"


def tensor_pickle(
    offset: int = 0,
    size: tuple[int, ...] = (2,),
    stride: tuple[int, ...] = (1,),
    count: int = 2,
    key: bytes | None = None,
    form: bytes = b"ctorch\nFloatStorage\n",
    tag: bytes | None = None,
    grad: bytes = b"\x89",
) -> bytes:
    """The pickle of one tensor, as PyTorch writes it."""
    tag = text("storage") if tag is None else tag
    key = text("0") if key is None else key
    storage = b"(" + tag + form + key + text("cpu") + number(count) + b"tQ"
    layout = number(offset) + tuple_of(size) + tuple_of(stride)
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + layout + grad + b"}tR."


def test_a_storage_of_several_dtypes() -> None:
    """A flat buffer, as in fused optimisers, and the same bytes under two dtypes."""
    parts = [np.array([1.5, -2], "f4"), np.array([3, 260], "i2"), np.array([2 + 1j], "c8")]
    raw = b"".join(part.tobytes() for part in parts) + b"\1\0\2\7"
    layout = [("float32", 0, 2), ("int16", 4, 2), ("bool", 20, 3), ("uint8", 20, 4), ("int32", 0, 2), ("float32", 0, 1)]
    tensors = b"".join(tensor_of_bytes(*place, len(raw)) for place in [*layout[:2], ("int16", 4, 2), *layout[2:]])
    floats, shorts, again, truths, raws, ints, first = load(archive(b"\x80\x02(" + tensors + b"t.", {"0": raw}))
    assert floats.tolist() == [1.5, -2] and shorts.tolist() == again.tolist() == [3, 260]
    assert truths.numpy().view(np.uint8).tolist() == [1, 0, 1] and raws.tolist()[3] == 7
    assert ints.numpy().view(np.float32).tolist() == [1.5, -2]
    first[0] = 9
    assert floats[0].item() == 9 and ints.numpy().view(np.float32)[0] == 9  # they share their memory


def tensor_of_bytes(dtype: str, offset: int, count: int, size: int) -> bytes:
    """The instructions for a tensor of some dtype in a storage of bytes; the offset is counted in elements."""
    storage = (
        b"(" + text("storage") + b"ctorch.storage\nUntypedStorage\n" + text("0") + text("cpu") + number(size) + b"tQ"
    )
    layout = number(offset) + tuple_of((count,)) + tuple_of((1,))
    return b"ctorch._utils\n_rebuild_tensor_v3\n(" + storage + layout + b"\x89}ctorch\n" + dtype.encode() + b"\ntR"


def test_a_tensor_made_by_hand() -> None:
    assert load(archive(tensor_pickle(), {"0": np.ones(2, np.float32).tobytes()})).tolist() == [1, 1]
    half = tensor_pickle(form=b"ctorch\nBFloat16Storage\n")
    data = np.array([0x3FC0, 0xFF80], "u2").tobytes()  # 1.5, -inf
    assert load(archive(half, {"0": data})).tolist() == [1.5, -np.inf]
    bools = tensor_pickle(form=b"ctorch\nBoolStorage\n")
    assert load(archive(bools, {"0": b"\x02\x00"})).numpy().view(np.uint8).tolist() == [1, 0]


WRONG: list[dict[str, Any]] = [{"offset": offset} for offset in (1, -1, 2**70)]
WRONG += [{"size": size} for size in ((3,), (-1,), (2, 2))]
WRONG += [{"stride": stride} for stride in ((2,), (-1,), (2**70,))]
WRONG += [{"count": count} for count in (3, -1, 2**40)]
WRONG += [{"key": key} for key in (number(0), text("missing"), text("../data.pkl"))]
WRONG += [{"form": form} for form in (number(4), b"ctorch\nTensor\n", b"ctorch\nLongStorage\n")]
WRONG += [{"tag": text("module")}, {"form": b"ctorch\nLongStorage\n", "grad": b"\x88"}]
WRONG += [{"size": (2, 2), "stride": (1, 1)}, {"size": (2**62, 2**62), "stride": (0, 0)}]
WRONG += [{"size": (0, -1), "stride": (1, 1)}, {"size": (1,) * 100, "stride": (1,) * 100}]


def test_tensors_that_do_not_fit_their_storage() -> None:
    def check(changes: dict[str, Any]) -> None:
        for trusted in (False, True):
            with pytest.raises(RuntimeError, match="cannot load the BytesIO: it "):
                load(archive(tensor_pickle(**changes), {"0": bytes(8)}), weights_only=not trusted)

    each(WRONG, check)
    with pytest.raises(RuntimeError) as error:  # before anything is allocated
        load(archive(tensor_pickle(count=2**40), {"0": bytes(8)}))
    assert "elements" in repr(error.value.__cause__), repr(error.value.__cause__)


def test_files_that_are_no_archives() -> None:
    good = archive(tensor_pickle(), {"0": bytes(8)})
    whole = good.getvalue()
    for length in range(4, len(whole)):
        with pytest.raises(RuntimeError, match="damaged or truncated zip archive"):
            load(io.BytesIO(whole[:length]))
    cases = [
        (archive(b"\x80\x02" + b"N0" * 1000 + b"N.", compression=zipfile.ZIP_DEFLATED), "is compressed"),
        (archive(b"", extra={"other/data.pkl": b""}), "not a checkpoint: it has no data.pkl"),
        (archive(b"\x80\x02N.", extra={"archive/constants.pkl": b""}), "TorchScript program"),
        (archive(tensor_pickle(), extra={"archive/byteorder": b"big"}), r"byte order 'big'"),
        (archive(b"\x80\x02"), "is an invalid checkpoint"),
        (archive(b""), "is an invalid checkpoint"),
        (archive(b"\x80\x02I1\n."), "is an invalid checkpoint"),
    ]
    for file, message in cases:
        with pytest.raises(RuntimeError, match=message):
            load(file)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = archive(b"\x80\x02N.", extra={"archive/data.pkl": b"\x80\x02N."})
    with pytest.raises(RuntimeError, match="with duplicate entry names"):
        load(twice)


def test_records_that_overlap_are_encrypted_or_damaged() -> None:
    good = archive(tensor_pickle(), {"0": bytes(8), "1": bytes(8)}).getvalue()
    first, second = (good.index(b"PK\x01\x02", good.index(b"PK\x01\x02") + n) for n in (0, 1))
    overlapping = bytearray(good)
    overlapping[second + 42 : second + 46] = overlapping[first + 42 : first + 46]
    encrypted = bytearray(good)
    encrypted[first + 8] |= 1
    flipped = bytearray(good)
    flipped[good.index(bytes(8), good.index(b"data/0")) + 3] ^= 1
    elsewhere = bytearray(good)
    elsewhere[second + 42] += 1
    for content, message in (
        (overlapping, "overlaps another"),
        (encrypted, "is encrypted"),
        (flipped, "the checksum of its record 'data/0' is wrong"),
        (elsewhere, "is not at its offset"),
    ):
        with pytest.raises(RuntimeError, match=message):
            load(io.BytesIO(content))


# Damage at random -------------------------------------------------------------------------------------------


def test_damage_gives_an_object_or_an_error_that_names_the_file() -> None:
    rng = np.random.default_rng(5)
    value: Any = {"x": minigrad.arange(3.0), "l": [1, (2.5, "t"), {3}], "n": argparse.Namespace(a=1)}
    files = [io.BytesIO(), io.BytesIO(), archive(tensor_pickle(), {"0": bytes(8)})]
    save(value, files[0])
    save([value, Config()], files[1])
    for whole in [file.getvalue() for file in files for _ in range(250)]:
        content = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        if rng.random() < 0.2:
            del content[rng.integers(len(content)) :]
        try:
            load(io.BytesIO(content))
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            assert "cannot load the BytesIO" in str(error)
