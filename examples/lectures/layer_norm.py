"""Layer normalisation of a batch of three, step by step (Ba, Kiros, Hinton 2016, arXiv 1607.06450)."""

from __future__ import annotations

from typing import NamedTuple

import minigrad as mg
from minigrad import Tensor, nn

from ..lesson.blocks import Equation, Lesson, Mark, Matrix, number, term
from ..lesson.markdown import Fields, told

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
    return told(globals(), **_checks(computed), **_moments(computed), **_normal(computed), output=_affine(computed))


def _moments(computed: Normalised) -> Fields:
    x, mean, deviations = computed.x.numpy(), computed.mean.numpy(), computed.deviations.numpy()
    variance = computed.variance.numpy()

    sources = (Mark("x", "cell"), Mark("μ", "row"))

    def averaged(i: int, _: int) -> str:
        return f"({' + '.join(term(v, 0) for v in x[i].tolist())}) / 4 = {number(mean[i, 0])}"

    def difference(i: int, j: int) -> str:
        return f"{number(x[i, j], 0)} − {term(mean[i, 0])} = {number(deviations[i, j])}"

    def squared(i: int, _: int) -> str:
        squares = " + ".join(f"{term(v)}²" for v in deviations[i].tolist())
        return f"({squares}) / 4 = {number(variance[i, 0])}"

    return {
        "means": Equation(
            Matrix("x", computed.x, ITEMS, FEATURES, 0),
            "→",
            Matrix("μ", mean, ITEMS, (), 2, "", averaged, (Mark("x", "row"),)),
        ),
        "variances": Equation(
            Matrix("x − μ", deviations, ITEMS, FEATURES, 2, "", difference, sources),
            "→",
            Matrix("σ²", variance, ITEMS, (), 2, "", squared, (Mark("x − μ", "row"),)),
        ),
    }


def _normal(computed: Normalised) -> Fields:
    deviations, variance = computed.deviations.numpy(), computed.variance.numpy()
    normal, epsilon = computed.normal.numpy(), f"{computed.layer.eps:f}".rstrip("0")

    def divided(i: int, j: int) -> str:
        of = f"{number(variance[i, 0])} + {epsilon}"
        return f"{number(deviations[i, j])} / √({of}) = {number(normal[i, j], 3)}"

    sources = (Mark("x − μ", "cell"), Mark("σ²", "row"))
    return {
        "epsilon": epsilon,
        "normal": Matrix("(x − μ) / √(σ² + ε)", normal, ITEMS, FEATURES, 3, "signs", divided, sources),
    }


def _affine(computed: Normalised) -> Equation:
    normal, output = computed.normal.numpy(), computed.output.numpy()

    def affine(i: int, j: int) -> str:
        by = f"{term(GAIN[j], 1)} × {term(normal[i, j], 3)} + {term(BIAS[j], 1)}"
        return f"{by} = {number(output[i, j], 3)}"

    sources = (Mark("(x − μ) / √(σ² + ε)", "cell"), Mark("γ", "column"), Mark("β", "column"))
    return Equation(
        Matrix("γ", computed.layer.weight[None], (), FEATURES, 1),
        "",
        Matrix("β", computed.layer.bias[None], (), FEATURES, 1),
        "→",
        Matrix("output", output, ITEMS, FEATURES, 3, "", affine, sources, example=(0, 1)),
    )


def _checks(computed: Normalised) -> Fields:
    zeros = mg.zeros(3, dtype=mg.float64)
    return {
        "module": mg.allclose(computed.layer(computed.x), computed.output, atol=1e-12),
        "moments": mg.allclose(computed.normal.mean(-1), zeros, atol=1e-12)
        and mg.allclose(computed.normal.var(-1, correction=0), zeros + 1, atol=1e-4),
        "scale_free": mg.allclose(computed.output[0], computed.output[1], atol=1e-5),
    }
