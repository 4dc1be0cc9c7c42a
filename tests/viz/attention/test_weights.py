"""viz.attention of given weights: the accepted forms, and errors."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.viz.attention import attention
from tests.support.cases import raises

CATS = ["I", "like", "cats"]
KATZEN = ["Ich", "mag", "Katzen", "!"]


def weights(*shape: int, causal: bool = False, padding: int = 0, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random rows of probabilities."""
    scores = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    if causal:
        scores[..., np.triu(np.ones(shape[-2:], bool), 1)] = -np.inf
    if padding:
        scores[..., -padding:] = -np.inf
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


def test_all_kinds_by_name() -> None:
    arrays = {"cross": weights(2, 3, 4, 3), "encoder": weights(2, 3, 3, 3), "decoder": weights(2, 3, 4, 4, causal=True)}
    view = attention(arrays, CATS, KATZEN)
    assert view.kinds == ("encoder", "decoder", "cross")
    for a in view.attentions:
        assert a.queries == tuple(CATS if a.kind == "encoder" else KATZEN)
        assert a.keys == tuple(KATZEN if a.kind == "decoder" else CATS)
        assert np.array_equal(np.stack(view.weights(a.kind)), arrays[a.kind])
    assert repr(view).startswith("<attention: Encoder self-attention: 2 layers, 3 heads, 3 × 3 tokens; ")


def test_one_array() -> None:
    causal, cross = weights(2, 3, 3, 3, causal=True), weights(2, 3, 4, 3)
    assert attention(weights(2, 3, 3, 3), CATS).kinds == ("encoder",)
    assert attention(weights(2, 3, 3, 3), [*CATS], [*CATS]).kinds == ("cross",)
    assert attention(causal, CATS).kinds == ("decoder",)
    assert attention(cross, CATS, KATZEN).kinds == ("cross",)
    assert attention(cross, tokens={"source": CATS, "target": KATZEN}).kinds == ("cross",)
    view, before = attention(cross, CATS, KATZEN), cross.copy()
    cross[...] = 0
    assert np.array_equal(view.weights()[0], before[0])  # the weights are copied


def test_tensors_lists_of_layers_and_fewer_axes() -> None:
    w = weights(2, 3, 3, 3)
    for form in (mg.tensor(w), w.astype(np.float64), [w[0], mg.tensor(w[1])], [w[0, :1], w[1]], w.tolist()):
        assert len(attention(form, CATS).weights()) == 2
    assert attention(w[0], CATS).weights()[0].shape == (3, 3, 3)
    assert attention(w[0, 0], CATS).weights()[0].shape == (1, 3, 3)
    batches = [np.stack([w[0], w[1]]), np.stack([w[1], w[0]])]  # (B, H, T, S) each
    assert np.array_equal(attention(batches, CATS).weights()[0], w[0])
    assert attention(w.astype(np.float16), CATS).weights()[0].dtype == np.float32


def test_masks_are_inferred_from_the_weights() -> None:
    causal = attention(weights(2, 2, 3, 3, causal=True), CATS).attentions[0].layers[0].blocked
    assert causal is not None and np.array_equal(causal[0], np.triu(np.ones((3, 3), bool), 1))
    padded = attention(weights(2, 2, 3, 3, padding=1), CATS).attentions[0].layers[1].blocked
    assert padded is not None and padded[0].tolist() == [[False, False, True]] * 3
    some = weights(2, 2, 3, 3)
    some[:, :, 0] = [0, 0.5, 0.5]  # a zero without a mask
    assert attention(some, CATS).attentions[0].layers[0].blocked is None


def test_a_query_without_allowed_keys() -> None:
    w = weights(1, 1, 3, 3)
    w[0, 0, 1] = 0
    (layer,) = attention(w, CATS).attentions[0].layers
    assert layer.weights[0, 1].tolist() == [0, 0, 0] and layer.blocked is not None
    assert layer.blocked[0].tolist() == [[False] * 3, [True] * 3, [False] * 3]
    w[0, 0, 1] = np.nan
    raises(ValueError, r"query 1 \('like'\) contains non-finite numbers.*must be all zeros", lambda: attention(w, CATS))


def test_meanings_of_rows() -> None:
    """A decoder's row is labelled with the token that it reads, or with the one that it writes, if given."""
    arrays = {"encoder": weights(1, 1, 3, 3), "decoder": weights(1, 1, 4, 4, causal=True), "cross": weights(1, 1, 4, 3)}
    read = attention(arrays, CATS, KATZEN).attentions
    assert [a.rows for a in read] == [tuple(CATS), tuple(KATZEN), tuple(KATZEN)]
    assert [a.meaning[0] for a in read] == [
        "a token that looks",
        *["the token that the decoder has just read, to write the next one"] * 2,
    ]
    assert read[2].meaning[1] == "a token of the source that it looks at"
    outputs = [*KATZEN[1:], "⟨end⟩ "]
    views = attention(arrays, tokens={"source": CATS, "target": KATZEN, "written": outputs}).attentions
    assert [a.rows for a in views[1:]] == [("mag", "Katzen", "!", "⟨end⟩·")] * 2
    assert views[0].rows == tuple(CATS)
    assert views[1].queries == views[1].keys == tuple(KATZEN)
    assert views[2].legend("row", "column") == (
        "row: a token that the decoder writes; column: a token of the source that it looks at to write it"
    )
    with pytest.raises(ValueError, match="has 4 queries, but there are 3 tokens"):
        attention(arrays, tokens={"source": CATS, "target": KATZEN, "written": CATS})


def test_invalid_weights() -> None:
    messages = {np.nan: "non-finite", np.inf: "non-finite", -0.5: "negative numbers, down to -0.5", 1.5: "sums to "}
    for value, message in messages.items():
        w = weights(2, 2, 3, 3)
        w[1, 0, 2, 1] = value
        raises(ValueError, rf"layer 1, head 0, the row of query 2 \('cats'\).*{message}", partial(attention, w, CATS))


def test_shapes_that_do_not_match() -> None:
    for value, tokens, message in [
        (weights(2, 2, 3, 3), (KATZEN,), "has 3 queries, but there are 4 tokens"),
        (weights(2, 2, 4, 3), (CATS,), "has 4 queries, but there are 3 tokens"),
        (weights(2, 2, 4, 3), (KATZEN, CATS), "has 4 queries, but there are 3 tokens"),
        (weights(2, 2, 3, 3), ([],), "has 3 queries, but there are 0 tokens"),
        (np.zeros((1, 1, 0, 0)), ([],), "is empty"),
        (np.zeros((0, 1, 2, 2)), (["a", "b"],), "has no layers"),
        (np.zeros((1, 0, 2, 2)), (["a", "b"],), "is empty"),
        ({}, (CATS,), "the dictionary is empty"),
        ({"self": weights(1, 1, 3, 3)}, (CATS,), "encoder, decoder, cross, not 'self'"),
        (weights(1, 1, 1, 3, 3), (CATS,), "select one sentence"),
        ([weights(2, 3, 3), weights(2, 2, 2)], (CATS,), "different numbers of tokens"),
    ]:
        raises(ValueError, message, partial(attention, value, *tokens))
    for value, tokens, message in [
        ("weights", (CATS,), "takes a module or weights, not a str"),
        (None, (CATS,), "takes a module or weights"),
        (weights(1, 1, 3, 3), ("I like cats",), "lists of strings"),
        (weights(1, 1, 3, 3), (np.zeros(3),), "lists of strings"),
        (weights(1, 1, 3, 3), (CATS, CATS, CATS), "3 more"),
    ]:
        raises(TypeError, message, partial(attention, value, *tokens))


def test_invalid_tokens() -> None:
    for tokens, message in [
        ("I like cats", "not one string: split 'I like cats'"),
        ([1, 2, 3], "1 is of type int"),
        ({"from": CATS}, re.escape("'written', not ['from']")),
        (3, "not int"),
        ([1, 2], "not int"),
        ({"source": CATS, "written": str}, "'written' must be a list of strings"),
    ]:
        with pytest.raises(TypeError, match=message):
            attention(weights(1, 1, 3, 3), tokens=tokens)
