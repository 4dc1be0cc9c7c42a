"""Small arrays are to be cut into many blocks."""

import pytest

from minigrad.backend import parallel


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows."""
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(parallel, "SERIAL_BYTES", 1 << 9)
