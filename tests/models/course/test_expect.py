"""The messages of checks name the usual mistakes."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.course import expect

A = np.array([[1.0, -2.0, 3.5], [0.5, 4.0, -1.0]])
SQUARE = np.array([[0.5, 0.25, 0.25], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
DIFFERENCES: list[tuple[Any, Any, str]] = [
    (None, 1.0, "y is None: a return is missing"),
    (..., 1.0, "y is Ellipsis: the gap ... is still there"),
    (-A, A, "y has the wrong sign"),
    (A.T, A, "y is transposed: it has shape (3, 2), but (2, 3) is expected"),
    (SQUARE.T, SQUARE, "y is transposed"),
    (A[::-1], A, "y is in reverse order along axis 0"),
    (3 * A, A, "y is 3 times what is expected: a sum instead of a mean?"),
    (A / 6, A, "y is 0.166667 times what is expected: a mean instead of a sum?"),
    (1.5 * A, A, "y is 1.5 times what is expected"),
    (A + 0.25, A, "y is 0.25 too large everywhere"),
    (A, A.sum(0), "y has shape (2, 3), but (3,) is expected: sum over the axis that was broadcast"),
    (A, A.sum(1, keepdims=True), "(2, 1) is expected: sum over the axis that was broadcast, and keep it"),
    (A[:1].T, A[0], "y has shape (3, 1), but (3,) is expected: an axis of size 1 is left over"),
    (A[:, :2], A, "y has shape (2, 2), but (2, 3) is expected"),
    (np.where(A == 4, np.nan, A), A, "y has 1 elements that are not finite"),
    (np.where(A == 4, 5, A), A, "y is 5 at [1, 1], but 4 is expected there (5 of 6 elements are right)"),
    (2.0, 3.5, "y is 0.571429 times what is expected"),
    (0.0, 3.5, "y is 0, but 3.5 is expected"),
    ("cat", 1.0, "y is a str, but numbers are expected"),
    ("cat", "dog", "y is 'cat', but 'dog' is expected"),
    ((A, -A), (A, A), "value 1 of y has the wrong sign"),
    ((A, 2 * A.T), (2 * A.T, A), "y: the values are right, but their order is not"),
    (A.reshape(2, 1, 3), A[None].reshape(1, 2, 3)[0].reshape(6), "join its axes"),
    (3.0, (A, A), "y is a float, but 2 values are expected"),
    ((A,), (A, A), "y has 1 values, but 2 are expected"),
]


@pytest.mark.parametrize(("got", "expected", "message"), DIFFERENCES, ids=[row[2][:40] for row in DIFFERENCES])
def test_differences(got: Any, expected: Any, message: str) -> None:
    with pytest.raises(expect.Wrong) as wrong:
        expect.same(got, expected, "y")
    assert message in str(wrong.value)


def test_columns_instead_of_rows() -> None:
    logits = np.array([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0], [2.0, 0.3, 0.2]])
    rows, columns = (np.exp(logits) / np.exp(logits).sum(axis, keepdims=True) for axis in (1, 0))
    with pytest.raises(expect.Wrong, match="has columns that sum to 1, instead of rows: the axis is wrong"):
        expect.same(columns, rows, "y")


def test_equal_answers_pass() -> None:
    expect.same(mg.tensor(A.tolist(), dtype=mg.float64), A, "y")
    expect.same(mg.tensor([1, 2]), [1, 2], "y")
    expect.same((A, "cat"), (A, "cat"), "y")
    expect.same(mg.tensor(A.tolist()), A.tolist(), "y")
    leaf = mg.tensor(A.tolist(), requires_grad=True)
    expect.same((leaf, 2 * leaf), (A, 2 * A), "y", {"advice": (A, A)})
    expect.same([float("-inf"), 1.0], np.array([-np.inf, 1.0]), "y")
    expect.same(A * (1 + 1e-7), A, "y")


def test_own_mistakes_come_first() -> None:
    with pytest.raises(expect.Wrong, match="y: advice"):
        expect.same(-A, A, "y", {"other": 2 * A, "advice": -A})


def test_other_checks() -> None:
    expect.rule(lambda x: (x * x).sum(), [1.0, 2.0])
    with pytest.raises(expect.Wrong, match="disagrees with finite differences"):
        expect.rule(lambda x: (x.detach() * x).sum(), [1.0, 2.0])
    expect.below(0.5, 1.0, "the loss")
    with pytest.raises(expect.Wrong, match="the loss is nan, but must be below 1"):
        expect.below(float("nan"), 1.0, "the loss")
    expect.refuses(lambda: int("x"), ValueError, "int of x")
    with pytest.raises(expect.Wrong, match="int of x must raise ValueError"):
        expect.refuses(lambda: None, ValueError, "int of x")


def test_a_verdict_is_the_reason_or_nothing() -> None:
    check = "same(f(2), 4, 'f(2)')"
    assert expect.verdict(check, {"f": lambda x: x * x}) == ""
    assert "f(2) is 1.5 times" in expect.verdict(check, {"f": lambda x: 3 * x})
    with pytest.raises(NameError):
        expect.verdict(check, {})
