"""A sample of rules at extreme values agrees with PyTorch or with high precision. ``python -m tests.peers.extremes``
tests all."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("mpmath")

from tests.ops.cases import Case  # noqa: E402 (as the next)

from .extremes import differences, problems  # noqa: E402
from .references import reference  # noqa: E402

# One rule of each kind, and the rules that once had 0/0, 0·∞ or ∞−∞.
SAMPLE = ("abs", "atan2", "acosh", "logcumsumexp", "logit", "det", "fmod", "torch.linalg.slogdet", "torch.ldexp")


@pytest.mark.parametrize("op", SAMPLE)
def test_a_sample(op: str) -> None:
    assert not problems((op,))


def test_a_wrong_gradient_is_noticed() -> None:
    for wrong, name in [
        (lambda t, x: x.abs() if t is torch else x.relu() * 2 - x, "gradient"),
        (lambda t, x: x.exp() if t is torch else x.exp().nan_to_num(), "value"),
    ]:
        case = Case("torch.wrong", wrong, wrong, ((2,),))
        with np.errstate(all="ignore"):
            assert f"{case} {name}" in dict(differences(case))


@pytest.mark.parametrize(
    ("op", "point", "order", "expected"),
    [
        ("atan2", [0.0, 1.0], 1, 1.0),
        ("logaddexp", [math.inf, 1.0], 1, 1.0),
        ("logaddexp", [math.inf, math.inf], 1, 0.5),
        ("hypot", [3.0, 4.0], 2, 16 / 125 - 0.5 * 12 / 125),  # its second derivatives are b² / y³ and -a b / y³
        ("erf", [math.nan], 0, math.nan),
    ],
)
def test_many_digits(op: str, point: list[float], order: int, expected: float) -> None:
    actual = reference(op, point, order, 0, (1.0, 0.5))
    assert actual == pytest.approx(expected, rel=1e-12, nan_ok=True)
