"""Layer normalization of a batch of three, step by step (Ba, Kiros and Hinton 2016, arXiv 1607.06450)."""

from __future__ import annotations

import minigrad as mg
from minigrad import Tensor, nn

from ..lesson.blocks import Equation, Lesson, Mark, Matrix, cellwise, number, term
from ..lesson.markdown import Fields, told

BATCH = ((2.0, 4.0, 6.0, 8.0), (20.0, 40.0, 60.0, 80.0), (-3.0, 1.0, 0.0, 2.0))
GAIN = (1.0, 2.0, 1.0, 0.5)  # γ
BIAS = (0.0, 0.5, 0.0, -1.0)  # β
ITEMS = ("item 1", "item 2", "item 3")
FEATURES = ("x₁", "x₂", "x₃", "x₄")


@mg.no_grad()
def lesson() -> Lesson:
    """The worked example: one operation at a time in float64, on a batch of 3 with 4 features."""
    layer = nn.LayerNorm(len(GAIN), dtype=mg.float64)
    layer.weight.copy_(mg.tensor(GAIN))
    layer.bias.copy_(mg.tensor(BIAS))
    x = mg.tensor(BATCH, dtype=mg.float64)
    mean = x.mean(-1, keepdim=True)  # (3, 1)
    deviations = x - mean
    variance = (deviations * deviations).mean(-1, keepdim=True)  # (3, 1)
    normal = deviations / (variance + layer.eps).sqrt()
    output = normal * layer.weight + layer.bias
    epsilon = f"{layer.eps:f}".rstrip("0")
    gain, bias = layer.weight[None], layer.bias[None]

    def averaged(i: int, _: int) -> str:
        return f"({' + '.join(term(v, 0) for v in x[i].tolist())}) / 4 = {number(mean[i, 0])}"

    def squared(i: int, _: int) -> str:
        squares = " + ".join(f"{term(v)}²" for v in deviations[i].tolist())
        return f"({squares}) / 4 = {number(variance[i, 0])}"

    difference = cellwise("{:.0f} − {:(} = {}", x, mean, deviations)
    divided = cellwise(f"{{}} / √({{}} + {epsilon}) = {{:.3f}}", deviations, variance, normal)
    affine = cellwise("{:(.1f} × {:(.3f} + {:(.1f} = {:.3f}", gain, normal, bias, output)
    of_x, of_deviations = (Mark("x", "cell"), Mark("μ", "row")), (Mark("x − μ", "cell"), Mark("σ²", "row"))
    of_normal = (Mark("(x − μ) / √(σ² + ε)", "cell"), Mark("γ", "column"), Mark("β", "column"))
    return told(
        globals(),
        means=Equation(
            Matrix("x", x, ITEMS, FEATURES, 0), "→", Matrix("μ", mean, ITEMS, (), 2, "", averaged, (Mark("x", "row"),))
        ),
        variances=Equation(
            Matrix("x − μ", deviations, ITEMS, FEATURES, 2, "", difference, of_x),
            "→",
            Matrix("σ²", variance, ITEMS, (), 2, "", squared, (Mark("x − μ", "row"),)),
        ),
        epsilon=epsilon,
        normal=Matrix("(x − μ) / √(σ² + ε)", normal, ITEMS, FEATURES, 3, "signs", divided, of_deviations),
        output=Equation(
            Matrix("γ", gain, (), FEATURES, 1),
            "",
            Matrix("β", bias, (), FEATURES, 1),
            "→",
            Matrix("output", output, ITEMS, FEATURES, 3, "", affine, of_normal, example=(0, 1)),
        ),
        **_checks(layer, x, normal, output),
    )


def _checks(layer: nn.LayerNorm, x: Tensor, normal: Tensor, output: Tensor) -> Fields:
    zeros = mg.zeros(3, dtype=mg.float64)
    return {
        "module": mg.allclose(layer(x), output, atol=1e-12),
        "moments": mg.allclose(normal.mean(-1), zeros, atol=1e-12)
        and mg.allclose(normal.var(-1, correction=0), zeros + 1, atol=1e-4),
        "scale_free": mg.allclose(output[0], output[1], atol=1e-5),
    }
