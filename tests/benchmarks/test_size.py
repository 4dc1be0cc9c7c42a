"""What an installation takes."""

from __future__ import annotations

import pytest

from benchmarks import size


def test_minigrad_needs_two_packages() -> None:
    sizes = size.everything("minigrad")
    assert sorted(sizes) == ["minigrad", "numpy", "safetensors"]
    assert 0.5 * 2**20 < sizes["minigrad"] < 5 * 2**20


def test_what_is_not_there_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size.installed("no-such-package") is None
    assert size.everything("no-such-package") == {}
    monkeypatch.setattr(size, "everything", lambda name: {"minigrad": 2**21} if name == "minigrad" else {})
    assert size.table().written() == [
        ["minigrad", "2.00", "2.0", "1.0", "nothing"],
        ["torch", "not installed", "–", "–", ""],
    ]
