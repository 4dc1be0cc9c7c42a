"""Layer normalisation of a batch of three, step by step (Ba, Kiros, Hinton 2016, arXiv 1607.06450)."""

from __future__ import annotations

from typing import NamedTuple

import minigrad as mg
from minigrad import Tensor, nn

from ..lesson.blocks import Checked, Equation, Lesson, Mark, Matrix, Section, Text, number, term

BATCH = ((2.0, 4.0, 6.0, 8.0), (20.0, 40.0, 60.0, 80.0), (-3.0, 1.0, 0.0, 2.0))
GAIN = (1.0, 2.0, 1.0, 0.5)  # γ
BIAS = (0.0, 0.5, 0.0, -1.0)  # β
ITEMS = ("item 1", "item 2", "item 3")
FEATURES = ("x₁", "x₂", "x₃", "x₄")


class Normalised(NamedTuple):
    """Every intermediate result, float64: a batch of 3, 4 features."""

    x: Tensor  # (3, 4)
    mean: Tensor  # (3, 1)
    deviations: Tensor  # (3, 4)
    variance: Tensor  # (3, 1)
    normal: Tensor  # (3, 4)
    output: Tensor  # (3, 4)
    layer: nn.LayerNorm


@mg.no_grad()
def normalise() -> Normalised:
    """One operation at a time."""
    layer = nn.LayerNorm(len(GAIN), dtype=mg.float64)
    with mg.no_grad():
        layer.weight.copy_(mg.tensor(GAIN))
        layer.bias.copy_(mg.tensor(BIAS))
    x = mg.tensor(BATCH, dtype=mg.float64)
    mean = x.mean(-1, keepdim=True)
    deviations = x - mean
    variance = (deviations * deviations).mean(-1, keepdim=True)
    normal = deviations / (variance + layer.eps).sqrt()
    return Normalised(x, mean, deviations, variance, normal, normal * layer.weight + layer.bias, layer)


def lesson() -> Lesson:
    """The worked example."""
    computed = normalise()
    return Lesson(
        "layer-norm",
        "Layer norm on a batch of three",
        "Each item is brought to mean 0 and variance 1 over its own features; what the other items of the "
        "batch are does not matter. A gain and a bias for each feature, which are learned, come after. In a "
        "transformer an item is a word, and its features are the numbers of its vector.",
        (_moments(computed), _normal(computed), _affine(computed), _checks(computed)),
    )


def _moments(computed: Normalised) -> Section:
    x, mean, deviations = computed.x.numpy(), computed.mean.numpy(), computed.deviations.numpy()
    variance = computed.variance.numpy()

    sources = (Mark("x", "cell"), Mark("μ", "row"))

    def averaged(i: int, _: int) -> str:
        return f"({' + '.join(term(v, 0) for v in x[i].tolist())}) / 4 = {number(float(mean[i, 0]))}"

    def difference(i: int, j: int) -> str:
        return f"{number(float(x[i, j]), 0)} − {term(float(mean[i, 0]))} = {number(float(deviations[i, j]))}"

    def squared(i: int, _: int) -> str:
        squares = " + ".join(f"{term(v)}²" for v in deviations[i].tolist())
        return f"({squares}) / 4 = {number(float(variance[i, 0]))}"

    return Section(
        "1. Mean and variance of each item",
        (
            Text(
                "μ is the mean over an item's features. σ² is the mean of their squared deviations from it: the "
                "sum is divided by the number of features, 4, not by 3."
            ),
            Equation(
                (
                    Matrix("x", computed.x, ITEMS, FEATURES, 0),
                    "→",
                    Matrix("μ", mean, ITEMS, (), 2, "", averaged, (Mark("x", "row"),)),
                )
            ),
            Equation(
                (
                    Matrix("x − μ", deviations, ITEMS, FEATURES, 2, "", difference, sources),
                    "→",
                    Matrix("σ²", variance, ITEMS, (), 2, "", squared, (Mark("x − μ", "row"),)),
                )
            ),
        ),
    )


def _normal(computed: Normalised) -> Section:
    deviations, variance = computed.deviations.numpy(), computed.variance.numpy()
    normal, epsilon = computed.normal.numpy(), f"{computed.layer.eps:f}".rstrip("0")

    def divided(i: int, j: int) -> str:
        of = f"{number(float(variance[i, 0]))} + {epsilon}"
        return f"{number(float(deviations[i, j]))} / √({of}) = {number(float(normal[i, j]), 3)}"

    sources = (Mark("x − μ", "cell"), Mark("σ²", "row"))
    return Section(
        "2. Divide by the deviation",
        (
            Text(f"ε = {epsilon} keeps the division from failing where all features are equal."),
            Matrix("(x − μ) / √(σ² + ε)", normal, ITEMS, FEATURES, 3, "signs", divided, sources),
            Text("Item 2 is ten times item 1, and comes out the same: layer norm does not see the scale of its input."),
        ),
    )


def _affine(computed: Normalised) -> Section:
    normal, output = computed.normal.numpy(), computed.output.numpy()

    def affine(i: int, j: int) -> str:
        by = f"{term(GAIN[j], 1)} × {term(float(normal[i, j]), 3)} + {term(BIAS[j], 1)}"
        return f"{by} = {number(float(output[i, j]), 3)}"

    sources = (Mark("(x − μ) / √(σ² + ε)", "cell"), Mark("γ", "column"), Mark("β", "column"))
    return Section(
        "3. Scale and shift",
        (
            Text(
                "γ and β are the layer's parameters, one of each for each feature. They begin as 1 and 0, and "
                "are learned; here they are set to round numbers. Each normalised number is multiplied by its "
                "feature's γ, and its feature's β is added."
            ),
            Equation(
                (
                    Matrix("γ", computed.layer.weight[None], (), FEATURES, 1),
                    "",
                    Matrix("β", computed.layer.bias[None], (), FEATURES, 1),
                    "→",
                    Matrix("output", output, ITEMS, FEATURES, 3, "", affine, sources, example=(0, 1)),
                )
            ),
        ),
    )


def _checks(computed: Normalised) -> Section:
    zeros = mg.zeros(3, dtype=mg.float64)
    return Section(
        "Checked",
        (
            Checked(
                "nn.LayerNorm(4), with these γ and β, gives the same",
                mg.allclose(computed.layer(computed.x), computed.output, atol=1e-12),
            ),
            Checked(
                "each normalised item has mean 0 and variance 1 (less by ε)",
                mg.allclose(computed.normal.mean(-1), zeros, atol=1e-12)
                and mg.allclose(computed.normal.var(-1, correction=0), zeros + 1, atol=1e-4),
            ),
            Checked(
                "items 1 and 2 come out equal, but for ε",
                mg.allclose(computed.output[0], computed.output[1], atol=1e-5),
            ),
        ),
    )
