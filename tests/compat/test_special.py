"""``torch.special`` has other names for functions that torch also has."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import special
from tests.support.cases import cases
from tests.support.parity import ours, theirs, torch


def test_names_are_pytorchs_and_some_are_aliases() -> None:
    assert [name for name in special.__all__ if not hasattr(torch.special, name)] == []
    other = {name: name for name in ("log_softmax", "logsumexp", "erf")}
    other |= {"expit": "sigmoid", "psi": "digamma", "gammaln": "lgamma", "multigammaln": "mvlgamma"}
    assert all(getattr(special, name) is getattr(minigrad, old) for name, old in other.items())
    with pytest.raises(AttributeError, match=r"no minigrad\.special\.expitt; did you mean minigrad\.special\.expit\?"):
        special.expitt  # type: ignore[attr-defined]


@cases("dtype, digits", [(np.float64, 2e-15), (np.float32, 3e-7)])
def test_erfinv_to_the_last_digits(dtype: Any, digits: float) -> None:
    """Where the formulas change, and close to and at the ends."""
    near = [0.0, -0.0, 1e-30, -1e-9, 0.3, 0.85, np.nextafter(0.85, 1), -0.8500001, 0.9999, -1.0, 1.0, 1.5, np.nan]
    y = np.array([*near, *np.linspace(-0.99, 0.99, 101), *(1 - 2.0 ** -np.arange(1, 24))], dtype)
    actual = ours(y).erfinv().numpy()
    np.testing.assert_allclose(actual, theirs(y.astype(np.float64)).erfinv().numpy(), rtol=digits)
    assert np.signbit(actual[1]) and not np.signbit(actual[0])
    assert ours(y[4]).erfinv().shape == () and ours(y[11]).erfinv().isnan()
