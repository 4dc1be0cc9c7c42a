"""Copies of views: the view's values and gradients, in new memory."""

from typing import Any

import numpy as np

from tests.support.both import agree
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import listed

COPIES = """
t.alias_copy(x) ; t.as_strided_copy(x, (2, 2), (1, 2), 3) ; t.diagonal_copy(x, 1, 0, 2)
t.expand_copy(x, (5, 2, 3, 4)) ; t.permute_copy(x, (2, 0, 1)) ; t.select_copy(x, 1, -1) ; t.split_copy(x, 2, 1)
t.split_with_sizes_copy(x, [1, 2], 1) ; t.squeeze_copy(x[:1]) ; t.t_copy(x[0]) ; t.transpose_copy(x, 0, 1)
t.unbind_copy(x, 2) ; t.unfold_copy(x, 2, 2, 1) ; t.unsqueeze_copy(x, 1) ; t.view_copy(x, (4, 6))
t.view_as_complex_copy(x.detach().reshape(-1, 2)).real + x.sum()
"""


@cases("expression", split(COPIES))
def test_copies(expression: str, device: str) -> None:
    def program(t: Any, x: Any) -> Any:
        copies = listed(evaluate(expression, t=t, x=x))
        assert not any(np.shares_memory(c.numpy(force=True), x.numpy(force=True)) for c in copies)
        return [c**2 for c in copies]

    agree(program, np.arange(24.0).reshape(2, 3, 4), device=device)
