"""save and load: every kind of value, sharing, safetensors files from other programs, and all kinds of errors."""

import argparse
import copy
import dataclasses
import enum
import io
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from minigrad.backend import dtype as dt
from minigrad.serialization import load, load_file, safe_globals, safetensors_file, save, save_file, source
from tests.support.cases import each, raises
from tests.support.parity import in_torch_words, torch


def host(tensor: Any) -> Any:
    """A tensor or an array as a NumPy array."""
    return tensor.detach().cpu().numpy() if isinstance(tensor, minigrad.Tensor) else tensor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.safetensors"


def again(obj: Any, path: Path) -> Any:
    save(obj, path)
    return load(path)


VALUES: list[Any] = [None, True, 3, -(2**70), 0.1, 10**5000, -(2**63), 2**63, float("inf"), -float("inf"), 1e-320]
VALUES += ['text with \u00e9, \U0001f600 and "quotes"', "", "lone \ud800 surrogate", b"\xff", bytearray(b"\x00"), b""]
VALUES += [3 + 4j, complex("nan-infj"), [], {}, (), ("a",), [1, [2, (3, None)]], {"a": {"b": [1.5, False]}}]
VALUES += [{1: "int", "1": "str", 2.5: "float", None: 0, (1, "x"): "tuple", False: "bool"}, float("nan")]
VALUES += [{"again": 0, "OrderedDict": []}, {"dict": 1, "tensor": "not one", "tuple": [2]}]
VALUES += [
    {b"k": 1, frozenset([1]): 2, 1 + 2j: 3},
    {1, "a"},
    set(),
    frozenset({(1, 2)}),
    range(2, 9, 3),
    OrderedDict(b=1, a=[2]),
    OrderedDict({1: 2}),
]
VALUES += [Counter("aab"), defaultdict(list, {(1, 2): [3]}), defaultdict(None, a=1), SimpleNamespace(a=[1])]
VALUES += [argparse.Namespace(lr=0.1, path=None, nested=argparse.Namespace(x=(1,)))]
VALUES += [minigrad.device("cuda:1"), minigrad.float16, minigrad.Size([2, 3])]
VALUES += [np.float32(2.5), np.int64(-1), np.bool_(True), np.str_("text")]


def test_python_values(path: Path) -> None:
    def check(value: Any) -> None:
        in_zip = again([value, minigrad.ones(2)], path.with_suffix(".pt"))[0]
        for loaded in (again(value, path), again([value, {"x": value}], path)[0], pickled_too(value, path), in_zip):
            assert type(loaded) is type(value)
            if value == value:
                assert loaded == value
            if not isinstance(value, int):
                assert repr(loaded) == repr(value)

    each(VALUES, check, lambda value: type(value).__name__)


def pickled_too(value: Any, path: Path) -> Any:
    """The same value in a pickle, because of another value next to it; still loaded as data."""
    save([value, Config(1)], path)
    with safe_globals([Config]):
        return load(path)[0]


def test_integers_of_more_than_64_bits_are_text(path: Path) -> None:
    """JSON readers need not support larger numbers."""
    save([2**63, 2**63 - 1], path)
    assert b"0x8000000000000000" in path.read_bytes() and b"9223372036854775807" in path.read_bytes()


def test_numpy_arrays(path: Path) -> None:
    def check(array: Any) -> None:
        for file in (path, path.with_suffix(".pt")):
            loaded = again({"a": [array]}, file)["a"][0]
            kind = array.dtype if file is path else array.dtype.newbyteorder("=")
            assert type(loaded) is np.ndarray and loaded.dtype == kind and loaded.shape == array.shape
            np.testing.assert_array_equal(loaded, array)
            if array.size:
                loaded[...] = loaded  # writable

    arrays = [np.arange(6.0).reshape(2, 3).T, np.array(["ab", "c"]), np.array([b"x"]), np.zeros((0, 2), "<U3")]
    arrays += [np.ones(2, ">i4"), np.ones((2, 2)) * 1j, np.arange(3, dtype=np.uint32), np.array("2020-01-01", "M8[D]")]
    each([*arrays, np.array(5), np.zeros(70000, np.uint16)], check)


class Config:
    """A user-defined class."""

    def __init__(self, width: int) -> None:
        self.width = width


@dataclasses.dataclass
class Data:
    """Another class, with slots and a default."""

    __slots__ = ("x", "y")
    x: Any
    y: list[int]


class Colour(enum.Enum):
    """A third class, constructed by a call."""

    RED = 1


Point = namedtuple("Point", "x y")
VALUES_OF_OTHERS = [Config(3), Data(1, [2]), Colour.RED, Point(1, 2)]


@pytest.mark.parametrize("value", VALUES_OF_OTHERS, ids=lambda value: type(value).__name__)
def test_objects_of_user_defined_classes_need_permission(value: Any, path: Path) -> None:
    """PyTorch's rule: data loads; classes load only with weights_only=False, or if they are declared safe."""
    weight = minigrad.ones(2)
    save({"model": OrderedDict(w=weight, v=weight), "config": value}, path)
    kind = type(value)
    with pytest.raises(pickle.UnpicklingError, match=rf"{path.name}: it holds .*\.{kind.__name__}.*weights_only=False"):
        load(path)
    with safe_globals([kind]):
        one = load(path)
    with pytest.raises(pickle.UnpicklingError):
        load(path)
    for state in (one, load(path, weights_only=False)):
        assert type(state["config"]) is kind
        if kind is Config:
            assert vars(state["config"]) == vars(value)
        else:
            assert state["config"] == value
        state["model"]["w"][0] = 5
        assert state["model"]["v"].tolist() == [5, 1]


class Queue(deque[Any]):
    """A deque, which is not a list, although a pickle fills it like one."""


@dataclasses.dataclass
class Log:
    """Not a list and not a dict; ``__reduce__`` gives it items of both kinds."""

    lines: list[Any] = dataclasses.field(default_factory=list)
    marks: dict[Any, Any] = dataclasses.field(default_factory=dict)

    def append(self, line: Any) -> None:
        self.lines.append(line)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.marks[key] = value

    def __reduce__(self) -> Any:
        return Log, (), None, iter(self.lines), iter(self.marks.items())


def filled_log() -> Log:
    log = Log()
    log.append("one")
    log.append(2)
    log["a"] = [3]
    return log


FILLED = [deque([1, 2], maxlen=3), deque(["one"]), deque(), Queue([1, [2]]), filled_log(), OrderedDict(a=deque([1]))]


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
def test_the_advice_about_safe_globals_helps(ending: str, tmp_path: Path) -> None:
    path, classes = tmp_path / f"x{ending}", {"deque": deque, "Queue": Queue, "Log": Log}

    def check(value: Any) -> None:
        save([value, minigrad.ones(1)], path)
        with pytest.raises(pickle.UnpicklingError, match="What to do: ") as error:
            load(path)
        (name,) = re.findall(r"safe_globals\(\[(\w+)\]\)", str(error.value))
        with safe_globals([classes[name]]):
            loaded = load(path)[0]
        assert type(loaded) is type(value) and loaded == value
        assert getattr(loaded, "maxlen", None) == getattr(value, "maxlen", None)

    each(FILLED, check)


def test_a_class_under_another_name(path: Path) -> None:
    save(Config(3), path)
    serialization = minigrad.serialization
    try:
        serialization.add_safe_globals([(Config, f"{Config.__module__}.Config"), Point])
        assert serialization.get_safe_globals() == [Config, Point]
        assert load(path).width == 3
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(TypeError, match="safe globals are classes and functions"):
        serialization.add_safe_globals(["os.system"])


class Tied(nn.Module):
    """A module whose head is its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.head = nn.Linear(32, 100, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("steps", minigrad.zeros(1), persistent=False)


@pytest.mark.parametrize("kwargs", [{}, {"pickle_protocol": 2}, {"pickle_module": pickle}], ids=str)
def test_whole_modules_and_optimisers(kwargs: Any, path: Path) -> None:
    save(nn.Sequential(nn.Linear(2, 3)), path)
    with pytest.raises(pickle.UnpicklingError, match=r"minigrad\.nn\.containers\.Sequential.*state_dict\(\)"):
        load(path)
    net = Tied()
    optimiser = optim.AdamW(net.parameters(), lr=0.1)
    net.head(net.embedding(minigrad.tensor([1]))).sum().backward()
    optimiser.step()
    save({"net": net, "optimiser": optimiser, "state": net.state_dict()}, path, **kwargs)
    with pytest.raises(pickle.UnpicklingError, match=r"\.Tied"):
        load(path)
    state = load(path, weights_only=False)
    twin = state["net"]
    assert twin.head.weight is twin.embedding.weight is state["optimiser"].param_groups[0]["params"][0]
    np.testing.assert_array_equal(host(twin.head.weight), host(net.head.weight))
    state["state"]["head.weight"][0, 0] = 7
    assert twin.embedding.weight[0, 0].item() == 7
    assert twin.steps.tolist() == [0] and "steps" not in twin.state_dict()
    state["state"]["head.weight"][0, 0] = net.head.weight[0, 0].item()
    for part, stepper in ((net, optimiser), (twin, state["optimiser"])):
        part.zero_grad()
        part.head(part.embedding(minigrad.tensor([2]))).sum().backward()
        stepper.step()
    np.testing.assert_array_equal(host(twin.head.weight), host(net.head.weight))


def test_tensors_keep_their_attributes(path: Path) -> None:
    x, p = minigrad.ones(2), nn.Parameter(minigrad.ones(2), requires_grad=False)
    x.note, p.is_bias = ["n"], True
    for extra in (None, Config(1)):
        save([x, p, p, x.detach(), extra], path)
        copies = load(path, weights_only=False)
        assert copies[0].note == ["n"] and copies[1].is_bias and copies[1] is copies[2]
        assert type(copies[1]) is nn.Parameter and not copies[1].requires_grad
        copies[3][0] = 9
        assert copies[0].tolist() == [9, 1]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_share_memory_as_their_originals_do(copied: Any, device: str) -> None:
    net = Tied().to(device)
    net.head.weight.is_tied = [True]
    net.head.weight.grad = minigrad.ones(100, 32, device=device)
    twin, state = copied([net, net.state_dict()])
    assert twin.head.weight is twin.embedding.weight is not net.head.weight
    assert twin.head.weight.requires_grad
    if copied is copy.deepcopy:  # as in PyTorch, Parameters are new objects
        assert twin.head.weight.grad is None and not hasattr(twin.head.weight, "is_tied")
        return
    assert twin.head.weight.is_tied == [True]
    if device == "cpu":  # from a GPU, each tensor is copied
        state["head.weight"][0, 0] = 7
        assert twin.embedding.weight[0, 0].item() == 7
    assert net.embedding.weight[0, 0].item() != 7
    x = minigrad.ones(2, 3, device=device).t()
    assert copied(x).stride() == x.stride() or device != "cpu"


def test_shared_objects_stay_shared(path: Path) -> None:
    shared: list[Any] = [1]
    loop: dict[str, Any] = {"list": shared, "set": {1}}
    loop["again"] = loop
    tensor = minigrad.ones(2)
    copies = again([shared, loop, shared, tensor, tensor, tensor.detach()], path)
    assert copies[0] is copies[2] is copies[1]["list"] and copies[1]["again"] is copies[1]
    assert copies[3] is copies[4] is not copies[5]
    copies[3][0] = 4
    assert copies[5].tolist() == [4, 1]
    parameter = nn.Parameter(minigrad.ones(2))
    copies = again([parameter, {"same": parameter}, parameter.detach()], path)
    assert copies[0] is copies[1]["same"] and isinstance(copies[0], nn.Parameter)
    assert type(copies[2]) is minigrad.Tensor and not copies[2].requires_grad
    twice: list[Any] = [Config(1)]
    twice.append(twice)
    save(twice, path)
    with safe_globals([Config]):
        assert load(path)[1][0].width == 1


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    file = io.BytesIO()
    save(1, file)
    raises(EOFError, r"the BytesIO: it is empty.*seek\(0\)", lambda: load(file))
    raises(AttributeError, "save takes a path or a binary file", lambda: save(1, []))
    raises(AttributeError, "load takes a path or a binary file object", lambda: load([]))
    raises(TypeError, "binary mode", lambda: load(io.StringIO("text")))
    mapped = lambda: load(io.BytesIO(b"x"), mmap=True)
    raises(ValueError, "f must be a file path in order to use the mmap argument", mapped)
    for value in (1, Config(1)):
        save_there = lambda value=value: save(value, tmp_path / "missing" / "x")
        raises(RuntimeError, r"Parent directory .*missing does not exist", save_there)


def test_mapped_tensors_stay_in_the_file_and_changes_in_memory(path: Path) -> None:
    save({"x": minigrad.arange(4.0), "i": minigrad.arange(3), "b": minigrad.ones(3) > 0}, path)
    before = path.read_bytes()
    state = load(path, mmap=True)
    state["x"][0] = 9
    assert state["x"].tolist() == [9, 1, 2, 3] and state["i"].tolist() == [0, 1, 2] and state["b"].all()
    assert path.read_bytes() == before
    save({"x": minigrad.zeros(4)}, path)  # replaced, not overwritten
    assert state["x"].tolist() == [9, 1, 2, 3]


PEAK = """
import resource, sys
import minigrad
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
before = peak()
state = minigrad.load(sys.argv[1])
print(sum(x.nbytes for x in state.values()), peak() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")
@pytest.mark.parametrize("name", ["a.safetensors", "a.pt"])
def test_loading_needs_the_memory_of_the_tensors_once(name: str, tmp_path: Path) -> None:
    """Although the file is mapped."""
    save({"x": minigrad.rand(3 << 22), "y": minigrad.rand(1 << 21)}, tmp_path / name)  # 56 MiB
    ran = subprocess.run([sys.executable, "-c", PEAK, tmp_path / name], capture_output=True, text=True, check=True)
    size, peak = map(int, ran.stdout.split())
    assert size == 56 << 20 and peak < 1.3 * size


def test_tensors(path: Path, device: str) -> None:
    def check(case: tuple[str, tuple[int, ...]]) -> None:
        dtype, shape = case
        array = np.asarray(np.random.default_rng(0).integers(0, 2, shape)).astype(dtype)
        tensor = minigrad.tensor(array, device=device)
        loaded = again({"x": tensor}, path)["x"]
        assert loaded.dtype is tensor.dtype and loaded.shape == tensor.shape and loaded.device.type == device
        np.testing.assert_array_equal(host(loaded), array)
        assert load(path, map_location="cpu")["x"].device.type == "cpu"
        assert load(path, map_location=device)["x"].device.type == device
        assert load_file(path, device)["x"].device.type == device

    shapes: list[tuple[int, ...]] = [(), (3,), (2, 3), (0, 2)]
    each(product(["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"], shapes), check)


def test_pytorch_reads_our_state_dicts(path: Path) -> None:
    ours, theirs = nn.TransformerEncoderLayer(8, 2, 16), torch.nn.TransformerEncoderLayer(8, 2, 16)
    from safetensors.torch import load_file as read

    save(ours.state_dict(), path)
    theirs.load_state_dict(read(path))
    save({"model": ours.state_dict(), "step": 3}, path)
    for name, value in theirs.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), ours.state_dict()[name].numpy())
        np.testing.assert_array_equal(value.numpy(), read(path)[f"model.{name}"].numpy())


def test_names_that_collide(path: Path) -> None:
    one, two, three = (minigrad.tensor([float(i)]) for i in range(3))
    copy = again({"a.b": one, "a": {"b": two}, "__metadata__": three}, path)
    assert [copy["a.b"].item(), copy["a"]["b"].item(), copy["__metadata__"].item()] == [0, 1, 2]
    assert again(one, path).item() == 0


# Values that cannot be saved -------------------------------------------------------------------------------


def test_an_object_that_cannot_be_saved_is_named(path: Path, tmp_path: Path) -> None:
    save(1, path)
    buffer = io.BytesIO()
    for bad in (lambda: 1, (i for i in ())):
        for target in (path, buffer, tmp_path / "x.pt"):
            for obj in ({"a": [bad]}, {"w": minigrad.ones(2), "a": [bad]}):
                with pytest.raises((TypeError, AttributeError, pickle.PicklingError)) as error:
                    save(obj, target)
                assert any("state['a'][0]: a builtins." in note for note in error.value.__notes__)
    assert load(path) == 1 and not buffer.getvalue()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


# Files that cannot be written ------------------------------------------------------------------------------


def test_a_failure_leaves_the_old_file_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save({"x": minigrad.ones(3)}, path)

    def broken(*args: Any) -> None:
        raise OSError("disk on fire")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(source.os, name, broken)
            with pytest.raises(OSError, match="disk on fire"):
                save({"x": minigrad.zeros(3)}, path)
    assert load(path)["x"].tolist() == [1, 1, 1]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform in ("win32", "emscripten"), reason="modes and links are POSIX's")
def test_modes_and_links(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    before = os.umask(0o027)
    try:
        save(1, file)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o640
    file.chmod(0o600)
    link.symlink_to(file)
    save(2, link)
    assert link.is_symlink() and load(file) == 2 and file.stat().st_mode & 0o777 == 0o600


# Files that cannot be read ---------------------------------------------------------------------------------


def test_every_truncation_is_reported(path: Path) -> None:
    save({"x": minigrad.arange(5.0), "n": 3}, path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 3):
        path.write_bytes(whole[:length])
        with pytest.raises(RuntimeError, match=r"load .*state\.safetensors: it .*What to do: "):
            load(path)


FOREIGN = [
    (b"short", r"too short for a safetensors file \(5 bytes\)"),
    (b"hello, this is a text file and no tensors at all", "not a tensor file"),
    (pickle.dumps({"a": 1}), "a Python pickle, but not a PyTorch checkpoint.*with pickle.load"),
    (pickle.dumps([1, 2], protocol=2), "a Python pickle, but not a PyTorch checkpoint"),
    (b'{"a": 1}', "not the index of a sharded model"),
    (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a tensor file"),
    ((2**63).to_bytes(8, "little") + bytes(50), "not a tensor file"),
    (b"PK\x03\x04" + bytes(100), "damaged or truncated zip archive"),
    (b"PK, but no archive", "not a tensor file"),
    (b"\x80\x02, but no pickle", "pickle"),
    (b"12345678{and more", "not a tensor file"),
    (b'{"weight_map": {"a": "b"}, ', "not the index of a sharded model"),
    (b"\x93NUMPY\x01\0v\0{'descr': '<f8'}", "not a tensor file"),
    (bytes(100), "not a tensor file"),
]


def test_foreign_files(path: Path) -> None:
    def check(case: tuple[bytes, str]) -> None:
        path.write_bytes(case[0])
        with pytest.raises(RuntimeError, match=case[1]):
            load(path)

    each(FOREIGN, check)


def with_description(path: Path, description: Any) -> None:
    arrays = {"x": np.ones(2), "i": np.ones(2, np.int64)}
    path.write_bytes(b"".join(safetensors_file.parts(arrays, {"minigrad": json.dumps(description)})))


NO_DESCRIPTIONS: list[Any] = [{"version": 1}, [], {"version": 1, "tree": {"tensor": "y"}}]
NO_DESCRIPTIONS += [{"version": 1, "tree": {"unknown": 1}}, {"version": 1, "tree": {"items": [[{"dict": {}}, 1]]}}]
NO_DESCRIPTIONS += [
    {"version": 2, "tree": tree}
    for tree in (
        {},
        {"again": 0},
        {"tensor": "x", "attributes": [["array", 1]]},
        {"tensor": "x", "attributes": [["backward", 1]]},
        {"tensor": "i", "requires_grad": True},
        {"OrderedDict": [], "attributes": [["items", 1]]},
        {"ndarray": {"dtype": "|O8", "shape": [1], "data": ""}},
        {"ndarray": {"dtype": "<f8", "shape": [9], "data": "AAAA"}},
        {"defaultdict": "eval", "items": []},
    )
]


def test_descriptions_that_make_no_sense(path: Path) -> None:
    def check(description: Any, message: str = "holds an invalid description") -> None:
        with_description(path, description)
        with pytest.raises(RuntimeError, match=message):
            load(path)

    each(NO_DESCRIPTIONS, check)
    check({"version": 3, "tree": 1}, r"newer minigrad \(format 3\)")
    code = {"__class__": "os.system", "__reduce__": ["echo", "x"]}
    with_description(path, {"version": 1, "tree": {"dict": code}})
    assert load(path) == code  # every description becomes plain values


# Other programs' files -------------------------------------------------------------------------------------


def test_files_of_pytorch(path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as write

    values = {
        "a": torch.randn(2, 3),
        "b": torch.randn(5).bfloat16(),
        "c": torch.tensor(3),
        "d": torch.ones(2, 2).half(),
    }
    write(values, path, metadata={"format": "pt"})
    state = load(path)
    assert sorted(state) == ["a", "b", "c", "d"]
    for name, value in values.items():
        wide = value.dtype is torch.bfloat16 and not minigrad.bfloat16.is_available
        assert in_torch_words(state[name].dtype) == ("torch.float32" if wide else str(value.dtype))
        np.testing.assert_array_equal(state[name].double().numpy(), value.double().numpy())
    write({name: torch.ones(2).to(getattr(torch, name)) for name in ("float8_e5m2", "uint16", "uint64")}, path)
    for name, tensor in load(path).items():
        assert (tensor.dtype.name, tensor.float().tolist()) == (name, [1.0, 1.0])
    write({"f4": torch.zeros(2, dtype=torch.uint8)}, path)
    path.write_bytes(path.read_bytes().replace(b'"U8"', b'"F4"'))
    with pytest.raises(RuntimeError, match="holds 'f4' of dtype F4"):
        load(path)


@pytest.mark.parametrize("dtype", dt.STORED, ids=str)
def test_stored_dtypes(dtype: Any, path: Path) -> None:
    """All except one are stored directly, not pickled, and views share their memory."""
    if dtype not in (minigrad.uint16, minigrad.uint32, minigrad.uint64):
        pytest.importorskip("ml_dtypes")
    ones = minigrad.ones(4, dtype=minigrad.uint8)
    x = ones.view(dtype) if dtype is minigrad.float4_e2m1fn_x2 else ones.to(dtype)
    if dtype is minigrad.float4_e2m1fn_x2:
        save({"w": minigrad.ones(1)}, path)
        with pytest.raises(TypeError, match=r"cannot write .*state\.safetensors.*'x'.*float4_e2m1fn_x2.*\.pt"):
            save({"x": x}, path)
        assert load(path)["w"].tolist() == [1]
        return
    parameter = nn.Parameter(x, requires_grad=dtype.is_floating_point)
    copy = again({"x": x, "view": x[1:], "p": parameter, "n": x.array}, path)
    assert not zipfile.is_zipfile(path)
    assert copy["x"].dtype is copy["view"].dtype is copy["p"].dtype is dtype
    assert copy["x"].view(minigrad.uint8).tolist() == x.view(minigrad.uint8).tolist()
    assert type(copy["p"]) is nn.Parameter and copy["p"].requires_grad == parameter.requires_grad
    assert np.shares_memory(copy["x"].array, copy["view"].array)
    save_file({"x": x}, path)
    assert load_file(path)["x"].dtype is dtype
    raises(TypeError, "'w' is a list", lambda: save_file({"w": [1]}, path))


def test_complex128_is_refused_by_safetensors(path: Path, tmp_path: Path) -> None:
    z = minigrad.ones(2, dtype=minigrad.complex128)
    for obj in (z, [nn.Parameter(z)], {"a": {"b": (z, z[1:])}}):
        with pytest.raises(TypeError, match=r"cannot write .*state\.safetensors.*complex128.*\.pt"):
            save(obj, path)
        assert not path.exists()
        assert "complex128" in repr(again(obj, tmp_path / "x.pt"))


def test_half_characters_in_names(path: Path) -> None:
    x = minigrad.ones(2)
    state = {"a\ud800": x, "a\\ud800": x + 1, "inner": {"\udfff": [x + 2]}, "\ud800": "\ud800"}
    copy = again(state, path)
    assert copy.keys() == state.keys() and copy["inner"].keys() == state["inner"].keys()
    assert copy["a\ud800"].tolist() == [1, 1] and copy["a\\ud800"].tolist() == [2, 2]
    assert copy["inner"]["\udfff"][0].tolist() == [3, 3]
    for tensors, metadata in (({"\ud800": x}, None), ({"x": x}, {"\ud800": "a"}), ({"x": x}, {"a": "\ud800"})):
        with pytest.raises(
            ValueError,
            match=r"cannot write .*state\.safetensors: '.*ud800' in a name or in metadata is a lone surrogate",
        ):
            save_file(tensors, path, metadata)


def test_bfloat16(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ml_dtypes")
    layer = nn.Linear(3, 2).bfloat16()
    value = {"w": layer.weight, "t": layer.weight.T, "numbers": layer.bias.detach().array, "kind": minigrad.bfloat16}
    twin = again(value, path)
    assert isinstance(twin["w"], nn.Parameter) and twin["w"].requires_grad and twin["kind"] is minigrad.bfloat16
    assert twin["w"].dtype is twin["t"].dtype is minigrad.bfloat16 and twin["w"].equal(layer.weight)
    assert twin["t"].equal(layer.weight.T) and (twin["numbers"] == layer.bias.array).all()
    assert pickle.loads(pickle.dumps(layer.weight)).equal(layer.weight) and copy.deepcopy(layer).bias.equal(layer.bias)
    save(layer, path)  # as a pickle
    assert load(path, weights_only=False).weight.equal(layer.weight)
    wide = nn.Linear(3, 2)
    wide.load_state_dict(layer.state_dict())
    layer.load_state_dict(wide.state_dict())
    assert wide.weight.dtype is minigrad.float32 and wide.weight.equal(layer.weight.float())
    save({"model": layer.state_dict(), "odd": complex}, path)
    with safe_globals([complex]):
        assert load(path)["model"]["weight"].equal(layer.weight)
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
        assert load(path)["model"]["weight"].dtype is minigrad.float32
    monkeypatch.undo()
    save(value, path)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    twin = load(path)
    assert twin["w"].dtype is twin["t"].dtype is minigrad.float32 and twin["w"].equal(wide.weight)


def test_arguments_of_pytorchs(path: Path) -> None:
    minigrad.save({"x": minigrad.ones(1)}, path)
    for where in (None, "cpu", minigrad.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage):
        assert minigrad.load(path, map_location=where, weights_only=False)["x"].device.type == "cpu"
    assert minigrad.load(path, lambda storage, place: storage, pickle)["x"].tolist() == [1]
    with pytest.raises(RuntimeError, match="pickle_module cannot be used with weights_only=True"):
        minigrad.load(path, pickle_module=pickle, weights_only=True)


def test_a_model_in_several_files(tmp_path: Path) -> None:
    save_file({"a": minigrad.ones(2)}, tmp_path / "one.safetensors")
    save_file({"b": minigrad.zeros(1), "c": minigrad.ones(1)}, tmp_path / "two.safetensors")
    save([1, 2], tmp_path / "list.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    where = {"b": "two.safetensors", "a": "one.safetensors", "c": "two.safetensors"}
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    loaded = load(index)
    assert list(loaded) == ["b", "a", "c"] and loaded["a"].tolist() == [1, 1]

    def check(case: tuple[Any, str]) -> None:
        index.write_text(json.dumps({"weight_map": case[0]}))
        with pytest.raises((RuntimeError, FileNotFoundError), match=case[1]) as error:
            load(index)
        assert not isinstance(error.value, RecursionError)

    wrong: list[tuple[Any, str]] = [({"a": "gone"}, "gone"), ({"a": "list.safetensors"}, "does not contain it")]
    words = "not the index of a sharded model"
    wrong += [(weights, words) for weights in ({"a": "../x"}, [1], None, {"a": 3})]
    wrong += [({"other": "one.safetensors"}, "'other' as a tensor of one.safetensors"), ({"a": index.name}, "an index")]
    each(wrong, check)
