"""The C library is told to keep freed memory, where there is one that can be told."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad.backend import memory


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What a C library that stands for Linux's is told; it takes all of it."""
    calls: list[tuple[int, int]] = []

    def mallopt(name: int, value: int) -> int:
        calls.append((name, value))
        return 1

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    for name in memory._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    return calls


def test_what_is_set(told: list[tuple[int, int]]) -> None:
    assert memory.keep_freed()
    assert dict(told) == {-4: 0, -1: memory.KEEP_BYTES, -2: 16 << 20}
    assert all(value < 1 << 31 for _, value in told), "mallopt takes a C int"


@pytest.mark.parametrize("name", memory._SET_BY_USER)
def test_a_users_own_settings_stay(name: str, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert not memory.keep_freed()
    assert not told


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems(system: str, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert not memory.keep_freed()
    assert not told


def test_a_c_library_that_knows_no_such_call(told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert not memory.keep_freed()

    def refuse(name: Any) -> Any:
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert not memory.keep_freed()


def test_a_c_library_that_refuses(told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=lambda name, value: 0))
    assert not memory.keep_freed()
