"""``torch.special`` names what torch has, too."""

from __future__ import annotations

import pytest

import minigrad
from minigrad import special
from tests.support.parity import torch

pytestmark = pytest.mark.parity


def test_names_are_pytorchs() -> None:
    assert [name for name in special.__all__ if not hasattr(torch.special, name)] == []
    assert all(callable(getattr(special, name)) for name in special.__all__)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("expit", "sigmoid"),
        ("psi", "digamma"),
        ("gammaln", "lgamma"),
        ("multigammaln", "mvlgamma"),
        ("erf", "erf"),
        ("log_softmax", "log_softmax"),
        ("logsumexp", "logsumexp"),
    ],
)
def test_other_spellings(name: str, other: str) -> None:
    assert getattr(special, name) is getattr(minigrad, other)


def test_a_missing_name() -> None:
    with pytest.raises(AttributeError, match=r"no minigrad\.special\.expitt; nearest: minigrad\.special\.expit"):
        special.expitt  # type: ignore[attr-defined]
