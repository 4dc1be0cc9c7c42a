"""The backward pass through slices."""

import numpy as np

import minigrad


def test_a_gradient_is_not_the_memory_of_another() -> None:
    """Two backward passes through one split: changes to the first gradient do not affect the second."""
    x = minigrad.tensor(np.arange(12.0).reshape(2, 6), requires_grad=True)
    a, b = x.split(3, dim=1)
    weight = minigrad.tensor(np.arange(12.0).reshape(2, 6))
    w1, w2 = weight.split(3, dim=1)
    loss = (a * w1).sum() + (b * w2).sum()
    (first,) = minigrad.autograd.grad(loss, x, retain_graph=True)
    before = first.numpy().copy()
    first.zero_()
    (second,) = minigrad.autograd.grad(loss, x)
    np.testing.assert_array_equal(second.numpy(), before)
    np.testing.assert_array_equal(weight.numpy(), np.arange(12.0).reshape(2, 6))
