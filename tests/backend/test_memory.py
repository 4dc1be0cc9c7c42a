"""Ask the C library to keep freed memory, if it can."""

import ctypes
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad.backend import memory
from tests.support.cases import cases


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The settings that a fake Linux C library receives and accepts."""
    calls: list[tuple[int, int]] = []

    def mallopt(name: int, value: int) -> int:
        calls.append((name, value))
        return 1

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    for name in memory._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    return calls


def test_the_settings(settings: list[tuple[int, int]]) -> None:
    assert memory.keep_freed.__wrapped__()
    assert dict(settings) == {-4: 0, -1: memory.KEEP_BYTES, -2: 16 << 20}
    assert all(value < 1 << 31 for _, value in settings), "mallopt takes a C int"


def no_library(name: Any) -> Any:
    raise OSError


OTHERS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    **{f"{name} is set": lambda patch, name=name: patch.setenv(name, "1") for name in memory._SET_BY_USER},
    **{system: lambda patch, system=system: patch.setattr(sys, "platform", system) for system in ("darwin", "win32")},
    "no such call": lambda patch: patch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace()),
    "no library": lambda patch: patch.setattr(ctypes, "CDLL", no_library),
    "refused": lambda patch: patch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=lambda name, value: 0)),
}


@cases("other", OTHERS)
def test_users_own_settings_and_other_systems_stay(
    other: str, settings: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        OTHERS[other](patch)
        assert not memory.keep_freed.__wrapped__()
    assert not settings
