"""Saving and loading: every kind of value, sharing, other programs' files, and all that can go wrong."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
import zipfile
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim, serialization
from minigrad.serialization import load, load_file, save, save_file


def host(tensor: Any) -> Any:
    """A tensor or an array as a NumPy array."""
    return tensor.detach().cpu().numpy() if isinstance(tensor, minigrad.Tensor) else tensor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.safetensors"


def again(obj: Any, path: Path) -> Any:
    save(obj, path)
    return load(path)


VALUES: list[Any] = [
    None, True, 3, -(2**70), 0.1, "text with \u00e9, \U0001f600 and \"quotes\"", "", [], {}, (),
    [1, [2, (3, None)]], {"a": {"b": [1.5, False]}}, {1: "int", "1": "str", 2.5: "float", None: 0, (1,
    "x"): "tuple", False: "bool"}, ("a",), {"dict": 1, "tensor": "not one", "tuple": [2]}, float("inf"),
    -float("inf"), 1e-320,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_python_values(value: Any, path: Path) -> None:
    found = again(value, path)
    assert found == value and type(found) is type(value)
    assert repr(found) == repr(value)


def test_values_that_become_plain(path: Path) -> None:
    assert math.isnan(again(float("nan"), path))
    value = {
        "a": OrderedDict(x=1),
        "b": defaultdict(list, y=[2]),
        "c": np.float32(0.5),
        "d": minigrad.Size([2, 3]),
    }
    found = again(value, path)
    assert found == {"a": {"x": 1}, "b": {"y": [2]}, "c": 0.5, "d": (2, 3)}
    assert [type(v) for v in found.values()] == [dict, dict, float, tuple]


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
def test_tensors(dtype: str, shape: tuple[int, ...], path: Path, device: str) -> None:
    array = np.asarray(np.random.default_rng(0).integers(0, 2, shape)).astype(dtype)
    given = minigrad.tensor(array, device=device)
    found = again({"x": given}, path)["x"]
    assert found.dtype is given.dtype and found.shape == given.shape and found.device.type == "cpu"
    np.testing.assert_array_equal(found.numpy(), array)
    assert load(path, map_location=device)["x"].device.type == device
    assert load_file(path, device)["x"].device.type == device


def test_views_arrays_and_parameters(path: Path) -> None:
    x = minigrad.arange(12.0).reshape(3, 4)
    value = [
        x.T,
        x[:, 1],
        nn.Parameter(x[0]),
        minigrad.ones(2, requires_grad=True),
        x.numpy()[1],
        x.sum(0) * 2,
    ]
    found = again(value, path)
    for a, b in zip(found, value, strict=True):
        np.testing.assert_array_equal(host(a), host(b))
    assert isinstance(found[2], nn.Parameter) and found[2].requires_grad
    assert found[3].requires_grad and type(found[3]) is minigrad.Tensor
    assert type(found[4]) is np.ndarray
    assert not found[5].requires_grad
    found[0][0, 0] = 5  # writable, and its own


def test_shared_tensors_are_written_once_and_shared_again(path: Path, device: str) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(100, 32)
            self.head = nn.Linear(32, 100, bias=False)
            self.head.weight = self.embedding.weight

    net = Tied().to(device)
    found = again({"model": net.state_dict(), "weight": net.head.weight}, path)
    assert path.stat().st_size < 1.3 * net.head.weight.nbytes
    one, two = found["model"]["embedding.weight"], found["model"]["head.weight"]
    one[0, 0] = 7
    assert two[0, 0].item() == 7 and found["weight"][0, 0].item() == 7
    net.load_state_dict(found["model"])
    assert net.head.weight is net.embedding.weight


def test_what_was_one_parameter_is_one_again(path: Path) -> None:
    p = nn.Parameter(minigrad.ones(2))
    found = again([p, {"same": p}, p.detach()], path)
    assert found[0] is found[1]["same"] and isinstance(found[0], nn.Parameter)
    assert type(found[2]) is minigrad.Tensor and not found[2].requires_grad
    found[2][0] = 5
    assert found[0][0].item() == 5


def test_a_flat_state_dict_is_a_file_for_everyone(path: Path) -> None:
    from safetensors.numpy import load_file as read

    state = nn.Linear(3, 2).state_dict()
    save(state, path)
    arrays = read(path)
    assert set(arrays) == {"weight", "bias"}
    np.testing.assert_array_equal(arrays["weight"], state["weight"].numpy())


def test_names_that_meet(path: Path) -> None:
    one, two, three = (minigrad.tensor([float(i)]) for i in range(3))
    found = again({"a.b": one, "a": {"b": two}, "__metadata__": three}, path)
    assert [found["a.b"].item(), found["a"]["b"].item(), found["__metadata__"].item()] == [0, 1, 2]
    assert again(one, path).item() == 0


def test_a_checkpoint_goes_on_exactly(path: Path, device: str) -> None:
    def batch(step: int) -> Any:
        return minigrad.tensor(
            np.random.default_rng(step).standard_normal((4, 3)).astype(np.float32), device=device
        )

    def train(net: Any, optimiser: Any, schedule: Any, steps: range) -> None:
        for step in steps:
            optimiser.zero_grad()
            nn.functional.dropout(net(batch(step)), 0.3).square().sum().backward()
            optimiser.step()
            schedule.step()

    def made() -> tuple[Any, Any, Any]:
        net = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2)).to(device)
        optimiser = optim.AdamW(net.parameters(), lr=0.01)
        return net, optimiser, optim.lr_scheduler.CosineAnnealingLR(optimiser, 20)

    first = made()
    train(*first, range(5))
    state = {"net": first[0].state_dict(), "optimiser": first[1].state_dict(),
             "schedule": first[2].state_dict(), "step": 5,
             "random": minigrad.default_generator.get_state()}  # fmt: skip
    save(state, path)
    train(*first, range(5, 10))

    second = made()
    found = load(path)
    for part, name in zip(second, ("net", "optimiser", "schedule"), strict=True):
        part.load_state_dict(found[name])
    minigrad.default_generator.set_state(found["random"])
    train(*second, range(found["step"], 10))
    for a, b in zip(first[0].parameters(), second[0].parameters(), strict=True):
        np.testing.assert_array_equal(host(a), host(b))


# What cannot be saved --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"optimizer": {"x": {1}}}, r"^state\['optimizer'\]\['x'\]: a set cannot be saved"),
        ([0, (nn.Identity(),)], r"^state\[1\]\[0\]: a Identity cannot be saved.*state_dict\(\)"),
        ({"f": math.sin}, r"^state\['f'\]: a builtin_function_or_method cannot be saved"),
        ({frozenset(): 1}, r"^state: a dict with a frozenset as key cannot be saved"),
        ({"a": np.array(["x"])}, r"^state\['a'\]: an array of dtype <U1 cannot be saved"),
        (3 + 4j, r"^state: a complex cannot be saved"),
        ({"a": b"bytes"}, r"^state\['a'\]: a bytes cannot be saved"),
    ],
)
def test_values_that_cannot_be_saved_are_named(value: Any, message: str, path: Path) -> None:
    save(1, path)
    with pytest.raises(TypeError, match=message):
        save(value, path)
    assert load(path) == 1


def test_what_contains_itself_cannot_be_saved(path: Path) -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    with pytest.raises(TypeError, match=r"^state\[1\]\['again'\]: a list that contains itself"):
        save(loop, path)
    shared = [1]
    assert again([shared, shared], path) == [[1], [1]]


# Files that cannot be written ------------------------------------------------------------------------------


def test_a_failure_leaves_the_old_file_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save({"x": minigrad.ones(3)}, path)

    def broken(*args: Any) -> None:
        raise OSError("disk on fire")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(serialization.os, name, broken)
            with pytest.raises(OSError, match="disk on fire"):
                save({"x": minigrad.zeros(3)}, path)
    assert load(path)["x"].tolist() == [1, 1, 1]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX's")
def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    save({"x": minigrad.ones(3)}, path)
    program = f"""
        import resource, minigrad
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            minigrad.save({{"x": minigrad.zeros(1_000_000)}}, {str(path)!r})
        except OSError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False,
        cwd=Path.cwd(), env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert str(path) in done.stdout, done.stderr
    assert load(path)["x"].tolist() == [1, 1, 1]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(1, tmp_path / "missing" / "x")
    with pytest.raises(TypeError, match="under a path, not into a list"):
        save(1, [])  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX's")
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


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


def test_every_truncation_is_told(path: Path) -> None:
    save({"x": minigrad.arange(5.0), "n": 3}, path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(RuntimeError, match=r"cannot load .*state\.safetensors: it .*What to do: "):
            load(path)


def test_damage_never_crashes_or_lies_about_the_structure(path: Path) -> None:
    """Any single byte of the header changed: an error that names the file, or a file that is still one."""
    save({"x": minigrad.arange(5.0), "n": [3, (4.5, None)]}, path)
    whole = bytearray(path.read_bytes())
    for i in range(8 + int.from_bytes(whole[:8], "little")):
        for change in (0x01, 0x80):
            damaged = whole.copy()
            damaged[i] ^= change
            path.write_bytes(damaged)
            try:
                load(path)
            except RuntimeError as error:
                assert str(path) in str(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"too short for a safetensors file \(0 bytes\)"),
        (b"hello, this is a text file and no tensors at all", "not a safetensors file"),
        (pickle.dumps({"a": 1}), "a Python pickle.*safetensors.torch.save_file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "safetensors file"),
        ((2**63).to_bytes(8, "little") + bytes(50), "safetensors file"),
    ],
)
def test_foreign_files(content: bytes, message: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=message):
        load(path)


def test_a_pytorch_checkpoint_is_recognised(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    with pytest.raises(RuntimeError, match=r"PyTorch checkpoint.*load it in PyTorch and write its tensors"):
        load(path)


def with_description(path: Path, description: Any) -> None:
    from safetensors.numpy import save_file as write

    write({"x": np.ones(2)}, path, metadata={"minigrad": json.dumps(description)})


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"version": 2, "tree": 1}, r"newer minigrad \(format 2\)"),
        ({"version": 1}, "makes no sense"),
        ([], "makes no sense"),
        ({"version": 1, "tree": {"tensor": "y"}}, "makes no sense"),
        ({"version": 1, "tree": {"unknown": 1}}, "makes no sense"),
        ({"version": 1, "tree": {"items": [[{"dict": {}}, 1]]}}, "makes no sense"),
    ],
)
def test_descriptions_that_make_no_sense(description: Any, message: str, path: Path) -> None:
    with_description(path, description)
    with pytest.raises(RuntimeError, match=message):
        load(path)


def test_nothing_loaded_can_run_code(path: Path) -> None:
    """A description is data: whatever it holds becomes plain values."""
    with_description(
        path, {"version": 1, "tree": {"dict": {"__class__": "os.system", "__reduce__": ["echo", "x"]}}}
    )
    assert load(path) == {"__class__": "os.system", "__reduce__": ["echo", "x"]}


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
    found = load(path)
    assert sorted(found) == ["a", "b", "c", "d"]
    for name, value in values.items():
        expected = value.float() if value.dtype is torch.bfloat16 else value
        assert found[name].dtype.name == str(expected.dtype).removeprefix("torch.")
        np.testing.assert_array_equal(found[name].numpy(), expected.numpy())
    write({"f8": torch.zeros(2).to(torch.float8_e4m3fn)}, path)
    with pytest.raises(RuntimeError, match="holds 'f8' of dtype F8_E4M3"):
        load(path)


def test_files_for_pytorch(path: Path) -> None:
    pytest.importorskip("torch")
    from safetensors.torch import load_file as read

    save_file({"w": minigrad.arange(6.0).reshape(2, 3).T}, path, metadata={"by": "minigrad"})
    assert read(path)["w"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert load_file(path)["w"].tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(TypeError, match="'w' is a list"):
        save_file({"w": [1]}, path)


def test_arguments_of_pytorchs(path: Path) -> None:
    minigrad.save({"x": minigrad.ones(1)}, path)
    for where in (None, "cpu", minigrad.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage):
        assert minigrad.load(path, map_location=where, weights_only=False)["x"].device.type == "cpu"


def test_safetensors_is_imported_only_when_it_is_needed() -> None:
    program = "import sys, minigrad, minigrad.serialization; assert 'safetensors' not in sys.modules"
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
