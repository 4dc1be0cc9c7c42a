"""OpenBLAS uses one thread inside the context; afterwards its number of threads is restored."""

import ctypes
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minigrad.backend import blas, parallel


class Library:
    """Stands in for OpenBLAS: a number of threads, and how often it was set."""

    def __init__(self, number: int) -> None:
        self.number, self.changes = number, 0

    def get(self) -> int:
        return self.number

    def put(self, number: int) -> None:
        self.number, self.changes = number, self.changes + 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    fake = Library(4)
    monkeypatch.setattr(blas, "calls", lambda: (fake.get, fake.put))
    return fake


def test_one_thread_inside_and_the_old_number_outside(library: Library) -> None:
    """Also after an error. If the number is already one, nothing is set."""
    with blas.one_thread():
        assert library.number == 1
        with blas.one_thread():
            assert library.number == 1
        assert library.number == 1
    assert library.number == 4
    with pytest.raises(ZeroDivisionError), blas.one_thread():
        raise ZeroDivisionError
    assert library.number == 4
    library.number, library.changes = 1, 0
    with blas.one_thread():
        pass
    assert (library.number, library.changes) == (1, 0)


def test_until_the_last_thread_has_left(library: Library) -> None:
    """Otherwise timing would decide how a thread that is still inside computes its product."""
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with blas.one_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=stay)
    with blas.one_thread():
        thread.start()
        assert inside.wait(10)
    assert library.number == 1
    leave.set()
    thread.join()
    assert library.number == 4


def test_a_number_that_is_set_while_someone_is_inside(library: Library) -> None:
    with blas.one_thread():
        blas.set_num_threads(3)
        assert library.number == 1
    assert library.number == 3
    before = parallel.get_num_threads()
    parallel.set_num_threads(2)
    assert library.number == 2
    parallel.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_inside(library: Library) -> None:
    """The thread that was inside does not exist in the child, and so would never leave."""
    with blas.one_thread():
        blas.forget_threads()  # the first action in a child
        assert library.number == 4
        with blas.one_thread():
            assert library.number == 1
        assert library.number == 4
    with blas.one_thread():
        assert library.number == 1
    assert library.number == 4


def test_another_blas_or_no_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """No function is found, so none is called."""

    def refuse(error: type[Exception]) -> Any:
        raise error

    for library in (lambda name: refuse(OSError), lambda name: refuse(AttributeError), lambda name: SimpleNamespace()):
        monkeypatch.setattr(ctypes, "CDLL", library)
        assert blas.calls.__wrapped__() == ()
    monkeypatch.setattr(blas, "calls", lambda: ())
    blas.set_num_threads(3)
    with blas.one_thread():
        assert np.allclose(np.ones((3, 3)) @ np.ones((3, 3)), 3)


def test_openblas_next_to_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On Windows a library does not expose the functions of libraries that it has loaded."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy.libs").mkdir()
    for name in ("libgfortran-1.dll", "libscipy_openblas64_-2.dll"):
        (tmp_path / "numpy.libs" / name).touch()
    functions = {f"scipy_openblas_{what}_num_threads64_": SimpleNamespace() for what in ("get", "set")}
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    monkeypatch.setattr(ctypes, "CDLL", lambda path: SimpleNamespace(**functions if "openblas" in path else {}))
    assert blas.calls.__wrapped__() == tuple(functions.values())


def test_numpys_openblas() -> None:
    """Its functions, and the variable behind them if it exposes one."""
    if not (calls := blas.calls()):
        pytest.skip("NumPy is without OpenBLAS")
    get, set_number = calls
    before = get()
    try:
        for n in (1, 2):
            set_number(n)
            assert get() == n
            with blas.one_thread():
                assert get() == 1
            assert get() == n
    finally:
        set_number(before)
