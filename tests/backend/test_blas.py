"""OpenBLAS's number of threads: 1 inside, as before outside."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minigrad.backend import blas, parallel


class Library:
    """Stands for OpenBLAS: a number, and how often it was set."""

    def __init__(self, number: int) -> None:
        self.number, self.changes = number, 0

    def get(self) -> int:
        return self.number

    def put(self, number: int) -> None:
        self.number, self.changes = number, self.changes + 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library(4)
    monkeypatch.setattr(blas, "calls", lambda: (made.get, made.put))
    monkeypatch.setattr(blas, "_number", None)
    return made


def test_one_inside_as_before_outside(library: Library) -> None:
    with blas.one_thread():
        assert library.number == 1
        with blas.one_thread():
            assert library.number == 1
        assert library.number == 1
    assert library.number == 4


def test_an_error_inside(library: Library) -> None:
    with pytest.raises(ZeroDivisionError), blas.one_thread():
        raise ZeroDivisionError
    assert library.number == 4


def test_where_it_is_one_already_nothing_is_set(library: Library) -> None:
    library.number = 1
    with blas.one_thread():
        pass
    assert (library.number, library.changes) == (1, 0)


def test_until_the_last_thread_has_left(library: Library) -> None:
    """Else a product of the one that is still inside would be computed another way, by chance."""
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
    blas.set_num_threads(2)
    assert library.number == 2


def test_set_num_threads_tells_openblas(library: Library) -> None:
    before = parallel.get_num_threads()
    parallel.set_num_threads(3)
    assert library.number == 3
    parallel.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_inside(library: Library) -> None:
    """The thread that was inside is not in the child, and will never leave."""
    with blas.one_thread():
        blas._alone()  # what a child does first
        assert library.number == 4
        with blas.one_thread():
            assert library.number == 1
        assert library.number == 4
    with blas.one_thread():
        assert library.number == 1
    assert library.number == 4


@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_where_no_library_can_be_opened(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: Any) -> Any:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert blas.calls.__wrapped__() == ()


def test_another_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found, and nothing is changed."""
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert blas.calls.__wrapped__() == ()
    monkeypatch.setattr(blas, "calls", lambda: ())
    blas.set_num_threads(3)
    with blas.one_thread():
        assert np.allclose(np.ones((3, 3)) @ np.ones((3, 3)), 3)


def test_openblas_beside_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On Windows a library does not show the functions of those that it has loaded."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy.libs").mkdir()
    for name in ("libgfortran-1.dll", "libscipy_openblas64_-2.dll"):
        (tmp_path / "numpy.libs" / name).touch()
    functions = {f"scipy_openblas_{what}_num_threads64_": SimpleNamespace() for what in ("get", "set")}
    monkeypatch.setattr(np, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    monkeypatch.setattr(ctypes, "CDLL", lambda path: SimpleNamespace(**functions if "openblas" in path else {}))
    assert blas.calls.__wrapped__() == tuple(functions.values())


@pytest.fixture
def real() -> Iterator[tuple[Callable[[], int], Callable[[int], object]]]:
    """The functions of the OpenBLAS that is here."""
    found = blas.calls()
    if not found:
        pytest.skip("NumPy is without OpenBLAS")
    before = found[0]()
    yield found
    found[1](before)


def test_numpys_openblas(real: tuple[Callable[[], int], Callable[[int], object]]) -> None:
    get, put = real
    put(2)
    assert get() == 2
    with blas.one_thread():
        assert get() == 1
    assert get() == 2


def test_the_variable_is_what_the_calls_say() -> None:
    if not (known := blas.calls()) or blas._number is None:
        pytest.skip("no OpenBLAS, or it shows no variable")
    get, put = known
    before = get()
    try:
        for n in (1, 2):
            put(n)
            assert blas._number.value == get() == n
            with blas.one_thread():
                assert get() == 1
            assert get() == n
    finally:
        put(before)
