"""What tests of layers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minigrad


@pytest.fixture
def dropout_of_pytorch() -> Iterator[None]:
    """Dropout draws as PyTorch's does."""
    before = minigrad.get_dropout_stream()
    minigrad.set_dropout_stream("pytorch")
    yield
    minigrad.set_dropout_stream(before)
