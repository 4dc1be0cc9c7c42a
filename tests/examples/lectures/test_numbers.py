"""The numbers of the worked examples match the lectures' figures and independent definitions."""

import itertools
import math
import re
from collections.abc import Iterator

import numpy as np
import pytest

import minigrad as mg
from examples.lectures import chain_rule, dictionary, masking, multi_head, softmax, translation
from examples.lectures.__main__ import LESSONS, make
from examples.lesson.blocks import Choice, Equation, Lesson, Matrix, product, softmax_told
from minigrad import nn


def soft(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_the_row_and_its_sharper_versions() -> None:
    assert softmax.row().numpy().round(3).tolist() == [0.116, 0.157, 0.158, 0.426, 0.142]
    for factor in softmax.FACTORS:
        expected = soft(factor * np.array(softmax.LOGITS))
        np.testing.assert_allclose(softmax.row(factor).numpy(), expected, atol=1e-12)
    entropies = [softmax.entropy(softmax.row(factor)) for factor in softmax.FACTORS]
    assert entropies == sorted(entropies, reverse=True) and softmax.row(8).max() > 0.99
    assert softmax.SCALES[softmax.ONE] == 1


def test_shapes_and_results_of_four_heads() -> None:
    result = multi_head.attend()
    shapes: dict[str, tuple[int, ...]] = {"ids": (1, 6)}
    shapes |= dict.fromkeys(("words", "x", "query", "joined", "output"), (1, 6, 512))
    shapes |= dict.fromkeys(("queries", "keys", "values", "heads"), (1, 4, 6, 128))
    shapes |= dict.fromkeys(("scores", "weights"), (1, 4, 6, 6))
    assert {name: tuple(getattr(result, name).shape) for name in result._fields if name != "module"} == shapes
    assert result.ids[0, 1] == result.ids[0, 5] and len(set(result.ids[0].tolist())) == 5
    module = result.module
    theirs = nn.MultiheadAttention(512, 4, batch_first=True)
    with mg.no_grad():
        theirs.in_proj_weight.copy_(mg.cat([module.query.weight, module.key.weight, module.value.weight]))
        theirs.out_proj.weight.copy_(module.output.weight)
        output, weights = theirs(result.x, result.x, result.x, average_attn_weights=False)
    np.testing.assert_allclose(result.output.numpy(), output.numpy(), atol=1e-5)
    np.testing.assert_allclose(result.weights.numpy(), weights.numpy(), atol=1e-6)


def matrices(lesson: Lesson) -> Iterator[Matrix]:
    """All matrices of a lesson that explain their numbers."""
    todo = [block for section in lesson.sections for block in section.blocks]
    while todo:
        block = todo.pop()
        if isinstance(block, Equation):
            todo += [part for part in block.parts if isinstance(part, Matrix)]
        elif isinstance(block, Choice):
            todo += block.options
        elif isinstance(block, Matrix) and block.how:
            yield block


def evaluated(text: str) -> float:
    """The value of the left side of an equation."""
    meanings = {"−": "-", "×": "*", "²": "**2", r"√(\d+)": r"math.sqrt(\1)", "√": "math.sqrt"}
    meanings |= {r"\be\^(-?[\d.]+)": r"math.exp(\1)", r"\^": "**", r"\b(sin|cos)\b": r"math.\1"}
    meanings[r"\bln ([\d.]+)"] = r"math.log(\1)"
    for pattern, replacement in meanings.items():
        text = re.sub(pattern, replacement, text)
    return float(eval(text, {"math": math}))


@pytest.mark.parametrize("name", [name for name in LESSONS if name != "they"])
def test_claims_hold_and_explanations_give_the_numbers_shown(name: str) -> None:
    lesson, sums = make(name), 0
    assert lesson.name == name and len(lesson.checks()) >= 3
    assert [check.claim for check in lesson.checks() if not check.holds] == []
    for matrix in matrices(lesson):
        assert matrix.how is not None
        cells = matrix.cells()
        for i, (column, j) in itertools.product(range(len(cells)), enumerate(matrix.shown)):
            how, cell = matrix.how(i, j), cells[i][column]
            if " = " not in how or ": " in how:
                continue  # the mask is explained in words
            left, *_, right = how.split(" = ")
            assert right == cell, (matrix.name, i, j)
            # Its terms are rounded to within 0.005.
            assert evaluated(left) == pytest.approx(float(cell.replace("−", "-")), rel=0.03, abs=0.02), how
            sums += 1
    assert sums or name in ("scaling", "masking")


def test_products_and_shares_are_explained_step_by_step() -> None:
    left, right = np.array([[1.3, -0.8]]), np.array([[0.6], [2.4]])
    assert product(left, right)(0, 0) == "1.3 × 0.6 + (−0.8) × 2.4 = −1.14"
    assert product(np.ones((1, 9)), np.ones((9, 1)))(0, 0) == "the sum of 9 products = 9.00"
    how = softmax_told(np.array([[0.0, math.log(3)]]), 2, 3)
    assert how(0, 1) == "e^1.10 / (e^0.00 + e^1.10) = 0.750"


def test_steps_that_bend() -> None:
    chain = chain_rule.bent("σ(h)")
    h, derivatives = 0.5, []
    for value in chain.values[1:]:
        h = 1 / (1 + math.exp(-h))
        derivatives.append(h * (1 - h))
        assert value == pytest.approx(h, rel=1e-12)
    np.testing.assert_allclose(chain.derivatives, derivatives, rtol=1e-12)
    assert chain.gradients[0] == pytest.approx(math.prod(derivatives), rel=1e-12) and chain.gradients[-1] == 1


def looked_up(angle: float, scale: float) -> float:
    """The soft lookup written for this case: K q is the cosine of the angle to each key."""
    scores = np.cos(np.radians(angle - np.array([0, 90, 180, 270])))
    return float(soft(scale * scores) @ np.array([2, 12, 28, 16]))


def test_soft_and_hard_lookups() -> None:
    for scale in dictionary.SCALES:
        expected = [looked_up(angle, scale) for angle in dictionary.ANGLES]
        np.testing.assert_allclose(dictionary.curve(scale), expected, atol=1e-9)
        derivative = (looked_up(30 + 1e-4, scale) - looked_up(30 - 1e-4, scale)) / 2e-4
        assert dictionary.derivative(30, scale) == pytest.approx(derivative, abs=1e-6)
    assert dictionary.stairs().tolist() == [[2, 12, 28, 16][round(angle / 90) % 4] for angle in dictionary.ANGLES]
    assert dictionary.by_equality(dictionary.direction(180.0).round()).tolist() == [[0, 0, 1, 0]]  # south
    assert dictionary.by_equality(dictionary.direction(30.0)).tolist() == [[0, 0, 0, 0]]


def test_gradients_flow_only_where_there_is_a_loss() -> None:
    network, exercise = masking.Network(), masking.draws()[0]
    losses = masking.losses(network, exercise, causal=False)
    logits = network.logits(exercise.read, False)[0].detach().numpy()
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = exercise.targets[0].numpy()
    expected = [-log_p[i, t] if t != masking.NONE else 0 for i, t in enumerate(targets)]
    np.testing.assert_allclose(losses.each, expected, atol=1e-12)
    p = np.exp(log_p)
    p[np.arange(len(p)), np.maximum(targets, 0)] -= 1  # ∂(−ln p)/∂z = p − 1 at the target
    sizes = np.linalg.norm(p, axis=-1) / 3 * (targets != masking.NONE)
    np.testing.assert_allclose(losses.gradients, sizes, atol=1e-12)


@pytest.fixture(scope="module")
def trained() -> translation.Trained:
    return translation.train()


def test_inference_reads_its_own_output(trained: translation.Trained) -> None:
    steps = translation.write(trained)
    read = [translation.names(trained.italian, step.tokens) for step in steps]
    assert read == [["SOS", "Ti", "amo", "molto"][: i + 1] for i in range(4)]
    assert translation.name(trained.italian, steps[-1].chosen) == "EOS"
    other = translation.write(trained, "I like cats")
    assert translation.names(trained.italian, [s.chosen for s in other]) == ["Mi", "piacciono", "i", "gatti", "EOS"]
