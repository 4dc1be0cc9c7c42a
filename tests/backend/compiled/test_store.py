"""The cache of compiled loops: written once, reused, rebuilt if damaged, and skipped if it cannot be written."""

import importlib.metadata
import marshal
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Thread, current_thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minigrad.backend import blas
from minigrad.backend.compiled import Code, machine_code, store
from tests.support.cases import cases
from tests.support.compiled_checks import needs_numba

ROOT = Path(__file__).parents[3]
pytest.importorskip("llvmlite")


def code_of(unit: str) -> Code:
    """A substitute for machine code."""
    return {f"{unit}.first": ("symbol", unit.encode() * 40), f"{unit}.second": ("other", b"\0\xff")}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Replace the real units with three others."""
    paths = {name: tmp_path / f"{name}.py" for name in ("thread_pool", "a_numba", "ab_numba")}
    for name, path in paths.items():
        path.write_text(name)
    monkeypatch.setattr(machine_code, "_sources", lambda: paths)
    monkeypatch.setattr(store, "FIRST", ("thread_pool", "a_numba"))
    return paths


@pytest.fixture
def compilations(sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that would have been compiled, in order."""
    units: list[str] = []

    def compiled(names: list[str]) -> dict[str, Code]:
        units.extend(names)
        return {unit: code_of(unit) for unit in names}

    monkeypatch.setattr(machine_code, "_compiled", compiled)
    return units


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder."""
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


ALL = {name: function for unit in ("thread_pool", "a_numba", "ab_numba") for name, function in code_of(unit).items()}


def files(cache: Path, unit: str) -> list[Path]:
    return sorted(cache.glob(f"{unit}-*.bin"))


def test_each_unit_is_compiled_once(compilations: list[str], cache: Path) -> None:
    assert machine_code.load() == ALL
    assert sorted(compilations) == ["a_numba", "ab_numba", "thread_pool"]
    assert machine_code.load() == ALL
    assert len(compilations) == 3
    assert len(list(cache.glob("*.bin"))) == 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_other_users_cannot_write_to_it_and_a_file_they_could_is_rebuilt(compilations: list[str], cache: Path) -> None:
    machine_code.load()
    assert all(not path.stat().st_mode & 0o077 for path in (cache, *cache.glob("*.bin")))
    compilations.clear()
    (path,) = files(cache, "a_numba")
    path.chmod(0o666)
    assert machine_code.load() == ALL
    assert compilations == ["a_numba"]
    assert not path.stat().st_mode & 0o077


def test_a_change_of_one_file_rebuilds_its_unit(compilations: list[str], cache: Path, sources: dict[str, Path]) -> None:
    machine_code.load()
    compilations.clear()
    sources["a_numba"].write_text("changed")
    assert machine_code.load() == ALL
    assert compilations == ["a_numba"]


@pytest.mark.parametrize("what", ["get_host_cpu_name", "get_host_cpu_features", "version"])
def test_another_processor_or_numba_rebuilds_everything(
    compilations: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    from llvmlite import binding

    machine_code.load()
    other = {"get_host_cpu_features": SimpleNamespace(flatten=lambda: "+none")}.get(what, "0.0")
    monkeypatch.setattr(importlib.metadata if what == "version" else binding, what, lambda *_: other)
    assert machine_code.load() == ALL
    assert len(compilations) == 6


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-7],
    "a byte of the seal": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "a byte of the code": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "more": lambda data: data + b"more",
    "something else": lambda data: b"#!/bin/sh\n" * 20,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_rebuilt(compilations: list[str], cache: Path, damage: str) -> None:
    machine_code.load()
    compilations.clear()
    (path,) = files(cache, "a_numba")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert machine_code.load() == ALL
    assert compilations == ["a_numba"]
    assert machine_code.load() == ALL
    assert compilations == ["a_numba"], "it was not rebuilt"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
@cases(
    "owner, mode, safe",
    [(1000, 0o600, True), (0, 0o644, True), (1001, 0o600, False), (1000, 0o620, False), (1000, 0o602, False)],
)
def test_only_trusted_files_are_loaded(monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, safe: bool) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    about: Any = SimpleNamespace(st_uid=owner, st_mode=mode)
    assert machine_code._is_safe(about) == safe


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_a_folder_that_others_can_write_to_is_not_used(compilations: list[str], cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert machine_code.load() == ALL
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache is elsewhere")
def test_without_a_writable_home_it_is_in_a_temporary_folder(
    compilations: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.delenv("MINIGRAD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # in which even root cannot create a folder
    monkeypatch.setattr(machine_code.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    assert machine_code.load() == ALL
    assert machine_code.load() == ALL
    assert len(compilations) == 3
    assert len(list((tmp_path / "tmp" / f"minigrad-{os.getuid()}").glob("*.bin"))) == 3
    monkeypatch.setattr(machine_code.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert machine_code.load() == ALL, "only for this process"
    assert len(compilations) == 6


def test_a_full_disk_costs_one_compilation(
    compilations: list[str], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine_code, "_folders", lambda: iter([cache, tmp_path / "second"]))
    monkeypatch.setattr(machine_code.os, "replace", full)
    assert machine_code.load() == ALL
    assert len(compilations) == 3


def test_old_files_are_removed(compilations: list[str], cache: Path) -> None:
    cache.mkdir(mode=0o700)
    for i in range(2 * machine_code.KEPT):
        for unit in ("a_numba", "ab_numba"):
            path = cache / f"{unit}-{i}.bin"
            path.write_bytes(b"old")
            os.utime(path, (1000 + i, 1000 + i))
    machine_code.load()
    left = files(cache, "a_numba")
    assert len(left) == len(files(cache, "ab_numba")) == machine_code.KEPT
    assert cache / f"a_numba-{2 * machine_code.KEPT - 1}.bin" in left
    assert cache / "a_numba-0.bin" not in left
    assert machine_code.load() == ALL and len(compilations) == 3


def test_only_one_of_several_processes_compiles(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, time
        from pathlib import Path
        from minigrad.backend.compiled import machine_code, store

        def compiled(units):
            if units:
                with open("made", "a") as file:
                    file.write(f"{len(units)}\\n")
                time.sleep(0.1)
            return {unit: {f"{unit}.f": ("symbol", b"code")} for unit in units}

        machine_code._compiled = compiled
        Path(f"ready-{os.getpid()}").touch()
        while len(list(Path(".").glob("ready-*"))) < 2:
            time.sleep(0.01)
        assert set(machine_code.load()) == {f"{unit}.f" for unit in machine_code._sources()}
        """
    )
    environment = {**os.environ, "MINIGRAD_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert (tmp_path / "made").read_text().splitlines() == [str(len(machine_code._sources()))]


# How it is compiled --------------------------------------------------------------------------------------


def stands_in(program: str) -> Callable[[str, list[str]], Any]:
    """For ``machine_code._start``: a program that replaces the compiler."""

    def start(folder: str, units: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", program, folder, *units], stderr=subprocess.PIPE)

    return start


def test_a_message_says_that_it_takes_time(
    sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = (
        f"import sys, pathlib\nfor u in sys.argv[2:]: pathlib.Path(sys.argv[1], u).write_bytes({marshal.dumps({})!r})"
    )
    monkeypatch.setattr(machine_code, "_start", stands_in(write))
    assert machine_code._compiled(list(sources)) == {unit: {} for unit in sources}
    assert capsys.readouterr().err == "minigrad: compiling its kernels for this machine, once ...\n"
    assert machine_code._compiled([]) == {}
    assert capsys.readouterr().err == ""


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the state to that of a process that has not requested the loops yet."""
    monkeypatch.setattr(store, "_attempts", set())
    monkeypatch.setattr(store, "_library", None)
    monkeypatch.delenv("MINIGRAD_FAST", raising=False)


def test_a_compiler_that_fails_is_reported_once(
    sources: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(machine_code, "_start", stands_in("raise SystemExit('first words\\nLLVM is out of order')"))
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        assert store.library() is None
        assert store.library() is None
    assert len(messages) == 1
    assert messages[0].category is RuntimeWarning
    assert "LLVM is out of order" in str(messages[0].message) and "MINIGRAD_FAST=0" in str(messages[0].message)
    assert not list(cache.glob("*.bin"))


@pytest.mark.parametrize("executable", ["", None, "/no/such/python"])
def test_without_a_python_to_start(cache: Path, monkeypatch: pytest.MonkeyPatch, executable: str | None) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.warns(RuntimeWarning, match="so NumPy is used instead"):
        assert store.library() is None


def test_a_rarely_used_unit_is_loaded_on_demand(
    compilations: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(store.Library, "add", lambda library, units, code: library.units.update(units))
    assert store.library() is not None and compilations == ["thread_pool", "a_numba"]
    assert store.library("a_numba") is store.library() and len(compilations) == 2
    assert store.library("ab_numba") is store.library() and compilations[2:] == ["ab_numba"]


def empty_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library into which nothing is loaded."""
    monkeypatch.setattr(store, "is_wanted", lambda: True)
    monkeypatch.setattr(store, "Library", lambda: SimpleNamespace(units=(), add=lambda units, code: None))


def test_it_is_prepared_during_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    fresh(monkeypatch)
    empty_library(monkeypatch)
    monkeypatch.setattr(machine_code, "load", lambda units: names.append(current_thread().name))
    store.prepare()
    assert store.library() is None  # waits
    store.prepare()
    assert names == ["minigrad kernels"] or names == [current_thread().name]


def test_threads_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    fresh(monkeypatch)
    empty_library(monkeypatch)
    monkeypatch.setattr(machine_code, "load", lambda units: calls.append(None))
    threads = [Thread(target=store.library) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_without_numba_or_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("0", "off", "no", "false"):
        monkeypatch.setenv("MINIGRAD_FAST", word)
        assert not store.is_wanted()
    fresh(monkeypatch)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not store.is_wanted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.library() is None


def test_arrays_of_another_layout_and_no_openblas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store._has_known_layout()
    monkeypatch.setattr(store.np, "zeros", lambda *_: np.ones((4, 5), np.float32))
    assert not store._has_known_layout()
    monkeypatch.setattr(blas, "_libraries", lambda: iter(()))
    assert blas.sgemm.__wrapped__() == 0


# In whole processes --------------------------------------------------------------------------------------

STEP = """
import sys, warnings
import numpy as np
import minigrad as mg
{before}
assert not {{"numba", "llvmlite"}} & set(sys.modules), "import minigrad is enough to load them"
x = mg.tensor(np.arange(12, dtype=np.float32).reshape(3, 4), requires_grad=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        y = mg.nn.functional.layer_norm(x, (4,))
        (y * y * y).sum().backward()
row = (np.arange(4) - 1.5) / np.sqrt(1.25 + 1e-5)
np.testing.assert_allclose(y.detach().numpy(), np.tile(row, (3, 1)), rtol=1e-5)
assert "numba" not in sys.modules
print(len(said), "llvmlite" in sys.modules)
"""


def ran(before: str = "", **environment: str) -> list[str]:
    """The output of a process that runs a short computation."""
    command = [sys.executable, "-c", STEP.format(before=before)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    process = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


@needs_numba
def test_numba_is_never_imported() -> None:
    assert ran() == ["0", "True"]


@pytest.mark.nightly
def test_numpy_kernels_where_numba_is_missing_or_switched_off() -> None:
    assert ran(MINIGRAD_FAST="0") == ["0", "False"]
    before = "import importlib.util; importlib.util.find_spec = lambda name: None"
    assert ran(before) == ["0", "False"]
