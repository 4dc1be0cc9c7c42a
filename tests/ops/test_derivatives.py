"""The check of gradients along random directions accepts only right ones."""

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.derivatives import check_derivatives
from tests.support.functions import Cube
from tests.support.parity import ours


def leaves(device: str) -> list[Any]:
    draw = np.random.default_rng(0)
    return [ours(np.asarray(draw.standard_normal(shape)), True, device) for shape in ((3, 2), (2,))]


class OneWrong(Cube):
    """x³ with a gradient that is wrong in one element."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        wrong = minigrad.zeros_like(x)
        wrong[2, 1] = 1e-3
        return grad * (3 * x**2 + wrong)


def test_one_wrong_element_is_noticed() -> None:
    check_derivatives(lambda x, y: (x.sin() @ y, y**3), leaves("cpu"), second=True)
    with pytest.raises(AssertionError, match="first order, input 0"):
        check_derivatives(lambda x, y: OneWrong.apply(x) * y, leaves("cpu"))


def test_a_gradient_without_a_second_order_is_noticed() -> None:
    """As from a rule that computes on values: the first order is right."""

    class Constant(Cube):
        """x³ with a gradient that does not depend on x."""

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * (3 * x.detach() ** 2)

    check_derivatives(lambda x, y: Constant.apply(x) * y, leaves("cpu"))
    with pytest.raises(AssertionError, match="second order, input 0"):
        check_derivatives(lambda x, y: Constant.apply(x) * y, leaves("cpu"), second=True)
