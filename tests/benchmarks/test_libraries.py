"""Peers compute what minigrad computes, and what they lack is said."""

from typing import Any

import pytest

from benchmarks import libraries, steps
from benchmarks.process import ask

Answers = dict[str, list[dict[str, Any]]]


@pytest.mark.parametrize("work", ["tiny", "tiny-gpt"])
def test_loss_and_gradients_are_ours(work: str) -> None:
    pytest.importorskip("jax")
    ours = steps.check("minigrad", work)
    steps.all_same(work, {"minigrad": ours, "jax": ask("benchmarks.on_jax:check", "jax", work=work)})
    trained = ask("benchmarks.on_jax:train", "jax", work=work, seconds=0.001)
    assert trained["loss"] == pytest.approx(ours["loss"], rel=1e-5 if work == "tiny-gpt" else 0.05)
    assert len(trained["times"]) >= steps.LEAST


def test_rows_say_what_is_missing_and_how_much_slower_the_others_are() -> None:
    found: Answers = {
        "minigrad": [{"times": [2.0, 2.0], "memory": 10.0}],
        "torch": [{"missing": "not installed"}],
        "jax": [{"times": [60.0], "memory": 30.0}],
    }
    assert list(libraries.rows(found)) == [
        ("minigrad", 2.0, None, 1.0, 10.0),
        ("PyTorch eager", "not installed", None, None, None),
        ("JAX, jitted", 60.0, None, 30.0, 30.0),
    ]
