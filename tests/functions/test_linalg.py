"""Products: einsum in all its forms, and shapes that do not match. (Gradients: tests/ops.)"""

import pytest

import minigrad
from tests.support.cases import raises


def test_einsum_errors() -> None:
    x = minigrad.ones(2, 3)
    for equation, operands, message in (
        ("ij,jk->ik", (x,), "names 2 operands, but 1 were given"),
        ("ijk->i", (x,), "do not match operand 0 of 2 dimensions"),
        ("ij,jk->ik", (x, x), "'j' has lengths 3 and 2"),
        ("ij->iz", (x,), "uses an unknown one"),
        ("ij->ii", (x,), "repeats a subscript"),
    ):
        with pytest.raises(RuntimeError, match=message):
            minigrad.einsum(equation, *operands)


def test_errors() -> None:
    x, y = minigrad.ones(2, 3), minigrad.ones(2, 4)
    raises(RuntimeError, r"matmul: mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x4\)", lambda: x @ y)
    raises(RuntimeError, "at least one axis", lambda: x @ minigrad.tensor(1.0))
    with pytest.raises(RuntimeError, match=r"same dtype, but got: minigrad\.float32 and minigrad\.float64"):
        x @ minigrad.ones(3, dtype=minigrad.float64)
    raises(RuntimeError, r"mm: expected a tensor of 2 dimensions, but got shape \(3,\)", lambda: x.mm(minigrad.ones(3)))
    with pytest.raises(RuntimeError, match="bmm: batch sizes 2 and 3 differ"):
        minigrad.bmm(minigrad.ones(2, 2, 2), minigrad.ones(3, 2, 2))
    raises(RuntimeError, r"matmul.*\(3, 2, 2\)", lambda: minigrad.ones(2, 2, 2) @ minigrad.ones(3, 2, 2))
    raises(TypeError, None, lambda: x @ 2)
    raises(TypeError, None, lambda: x @ [[1.0]])
