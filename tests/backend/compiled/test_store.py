"""The cache of compiled loops: found, made once, made anew where it is damaged, and done without where it cannot be."""

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
    """What stands for machine code."""
    return {f"{unit}.first": ("symbol", unit.encode() * 40), f"{unit}.second": ("other", b"\0\xff")}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Three units in the place of those that there are."""
    found = {name: tmp_path / f"{name}.py" for name in ("crew", "a_numba", "ab_numba")}
    for name, path in found.items():
        path.write_text(name)
    monkeypatch.setattr(machine_code, "_sources", lambda: found)
    monkeypatch.setattr(store, "FIRST", ("crew", "a_numba"))
    return found


@pytest.fixture
def made(sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that have been compiled, in order: nothing is."""
    units: list[str] = []

    def compiled(wanted: list[str]) -> dict[str, Code]:
        units.extend(wanted)
        return {unit: code_of(unit) for unit in wanted}

    monkeypatch.setattr(machine_code, "_compiled", compiled)
    return units


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the cache."""
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


ALL = {name: function for unit in ("crew", "a_numba", "ab_numba") for name, function in code_of(unit).items()}


def files(cache: Path, unit: str) -> list[Path]:
    return sorted(cache.glob(f"{unit}-*.bin"))


def test_it_is_made_once(made: list[str], cache: Path) -> None:
    assert machine_code.load() == ALL
    assert sorted(made) == ["a_numba", "ab_numba", "crew"]
    assert machine_code.load() == ALL
    assert len(made) == 3
    assert len(list(cache.glob("*.bin"))) == 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_others_may_not_write_to_it_and_a_file_that_they_may_is_made_anew(made: list[str], cache: Path) -> None:
    machine_code.load()
    assert all(not path.stat().st_mode & 0o077 for path in (cache, *cache.glob("*.bin")))
    made.clear()
    (path,) = files(cache, "a_numba")
    path.chmod(0o666)
    assert machine_code.load() == ALL
    assert made == ["a_numba"]
    assert not path.stat().st_mode & 0o077


def test_a_change_of_one_file_makes_its_unit_anew(made: list[str], cache: Path, sources: dict[str, Path]) -> None:
    machine_code.load()
    made.clear()
    sources["a_numba"].write_text("changed")
    assert machine_code.load() == ALL
    assert made == ["a_numba"]


@pytest.mark.parametrize("what", ["get_host_cpu_name", "get_host_cpu_features", "version"])
def test_another_processor_or_numba_makes_all_anew(
    made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    from llvmlite import binding

    machine_code.load()
    other = {"get_host_cpu_features": SimpleNamespace(flatten=lambda: "+none")}.get(what, "0.0")
    monkeypatch.setattr(importlib.metadata if what == "version" else binding, what, lambda *_: other)
    assert machine_code.load() == ALL
    assert len(made) == 6


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-7],
    "a byte of the seal": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "a byte of the code": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "more": lambda data: data + b"more",
    "something else": lambda data: b"#!/bin/sh\n" * 20,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(made: list[str], cache: Path, damage: str) -> None:
    machine_code.load()
    made.clear()
    (path,) = files(cache, "a_numba")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert machine_code.load() == ALL
    assert made == ["a_numba"]
    assert machine_code.load() == ALL
    assert made == ["a_numba"], "it has not been mended"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
@cases(
    "owner, mode, safe",
    [(1000, 0o600, True), (0, 0o644, True), (1001, 0o600, False), (1000, 0o620, False), (1000, 0o602, False)],
)
def test_whose_files_are_loaded(monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, safe: bool) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    about: Any = SimpleNamespace(st_uid=owner, st_mode=mode)
    assert machine_code._is_safe(about) == safe


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_a_folder_that_others_may_write_to_is_left_alone(made: list[str], cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert machine_code.load() == ALL
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache is elsewhere")
def test_without_a_home_to_write_to_it_lies_in_a_temporary_folder(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.delenv("MINIGRAD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # which even root cannot make a folder in
    monkeypatch.setattr(machine_code.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    assert machine_code.load() == ALL
    assert machine_code.load() == ALL
    assert len(made) == 3
    assert len(list((tmp_path / "tmp" / f"minigrad-{os.getuid()}").glob("*.bin"))) == 3
    monkeypatch.setattr(machine_code.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert machine_code.load() == ALL, "for this process alone"
    assert len(made) == 6


def test_a_full_disk_costs_one_compilation(
    made: list[str], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine_code, "_folders", lambda: iter([cache, tmp_path / "second"]))
    monkeypatch.setattr(machine_code.os, "replace", full)
    assert machine_code.load() == ALL
    assert len(made) == 3


def test_old_files_go(made: list[str], cache: Path) -> None:
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
    assert machine_code.load() == ALL and len(made) == 3


def test_of_several_processes_one_compiles(tmp_path: Path) -> None:
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
    """For ``machine_code._start``: a program in the place of the compiler."""

    def start(folder: str, units: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", program, folder, *units], stderr=subprocess.PIPE)

    return start


def test_a_line_says_that_it_takes_time(
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
    """As in a process that has not asked for the loops yet."""
    monkeypatch.setattr(store, "_attempts", set())
    monkeypatch.setattr(store, "_library", None)
    monkeypatch.delenv("MINIGRAD_FAST", raising=False)


def test_a_compiler_that_fails_is_said_once(
    sources: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(machine_code, "_start", stands_in("raise SystemExit('first words\\nLLVM is out of order')"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert store.library() is None
        assert store.library() is None
    assert len(said) == 1
    assert said[0].category is RuntimeWarning
    assert "LLVM is out of order" in str(said[0].message) and "MINIGRAD_FAST=0" in str(said[0].message)
    assert not list(cache.glob("*.bin"))


@pytest.mark.parametrize("executable", ["", None, "/no/such/python"])
def test_without_a_python_to_start(cache: Path, monkeypatch: pytest.MonkeyPatch, executable: str | None) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.warns(RuntimeWarning, match="NumPy's are"):
        assert store.library() is None


def test_a_unit_that_few_programs_need_waits_until_it_is_asked_for(
    made: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(store.Library, "add", lambda library, units, code: library.units.update(units))
    assert store.library() is not None and made == ["crew", "a_numba"]
    assert store.library("a_numba") is store.library() and len(made) == 2
    assert store.library("ab_numba") is store.library() and made[2:] == ["ab_numba"]


def empty_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded."""
    monkeypatch.setattr(store, "is_wanted", lambda: True)
    monkeypatch.setattr(store, "Library", lambda: SimpleNamespace(units=(), add=lambda units, code: None))


def test_it_is_prepared_beside_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    fresh(monkeypatch)
    empty_library(monkeypatch)
    monkeypatch.setattr(machine_code, "load", lambda units: names.append(current_thread().name))
    store.prepare()
    assert store.library() is None  # waits
    store.prepare()
    assert names == ["minigrad kernels"] or names == [current_thread().name]


def test_threads_ask_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []
    fresh(monkeypatch)
    empty_library(monkeypatch)
    monkeypatch.setattr(machine_code, "load", lambda units: asked.append(None))
    threads = [Thread(target=store.library) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1


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
    """What a process says that computes a little."""
    command = [sys.executable, "-c", STEP.format(before=before)]
    known = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_numba
def test_numba_is_never_imported() -> None:
    assert ran() == ["0", "True"]


@pytest.mark.nightly
def test_numpy_kernels_where_numba_is_missing_or_switched_off() -> None:
    assert ran(MINIGRAD_FAST="0") == ["0", "False"]
    before = "import importlib.util; importlib.util.find_spec = lambda name: None"
    assert ran(before) == ["0", "False"]
