"""Functions of both libraries that combine several gradient rules; ``extremes.py`` tests them along with the rules."""

import math
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from tests.ops.cases import Case

ELEMENT, ROWS, SQUARE = (2,), (3, 4), (3, 3)  # input shapes for functions of elements, rows and matrices
UNARY = """
    logit sinc frac sgn rad2deg nan_to_num special.entr special.ndtri special.ndtr special.expit
    nn.functional.selu nn.functional.softplus nn.functional.softsign nn.functional.tanhshrink nn.functional.silu
    nn.functional.gelu nn.functional.celu nn.functional.relu6 nn.functional.hardsigmoid nn.functional.logsigmoid
"""
BINARY = """
    logaddexp2 xlogy special.xlog1py fmax fmin float_power ldexp fmod remainder true_divide
    nn.functional.poisson_nll_loss nn.functional.soft_margin_loss nn.functional.hinge_embedding_loss
"""
LOSSES = "mse_loss l1_loss huber_loss smooth_l1_loss kl_div binary_cross_entropy_with_logits"
OF_ROWS = """
    std var logsumexp softmax log_softmax nn.functional.softmin nn.functional.normalize cumprod prod cumsum logcumsumexp
    amax amin nansum nanmean
"""
OF_PAIRS = """
    nn.functional.cosine_similarity nn.functional.pairwise_distance cdist dist nn.functional.cross_entropy
    nn.functional.cosine_similarity
"""
OF_MATRICES = "det logdet linalg.slogdet linalg.pinv linalg.matrix_norm matrix_exp trace linalg.inv linalg.cholesky"
NORMS = (0, 0.5, 1, 1.5, 2, 3, math.inf, -math.inf, -1, -2)


def functions() -> Iterator[Case]:
    """Each function as a case, "torch." before its name."""
    for name in UNARY.split():
        yield _case(name, ELEMENT)
    for name in BINARY.split():
        yield _case(name, ELEMENT, ELEMENT)
    for name in LOSSES.split():
        loss = lambda t, *xs, f=name: getattr(t.nn.functional, f)(*xs, reduction="none")
        yield _case(name, ELEMENT, ELEMENT, of=loss)
    yield _case("binary_cross_entropy", ELEMENT, ELEMENT, of=_binary_cross_entropy)
    of_variance = lambda t, x, y, v: t.nn.functional.gaussian_nll_loss(x, y, v.abs(), reduction="none")
    yield _case("gaussian_nll_loss", ELEMENT, ELEMENT, ELEMENT, of=of_variance)
    for name in OF_ROWS.split():
        yield _case(name, ROWS, of=lambda t, x, f=name: attrgetter(f)(t)(x, dim=1))
    for p in NORMS:
        yield _case(f"norm {p}", ROWS, of=lambda t, x, p=p: t.linalg.vector_norm(x, p, 1))
    yield _case("renorm", ROWS, of=lambda t, x: t.renorm(x, 2, 0, 1.0))
    for name in ("std", "var"):
        yield _case(f"{name} of one", (3, 1), of=lambda t, x, f=name: getattr(t, f)(x, dim=1))
    for name in ("layer_norm", "rms_norm"):
        yield _case(name, ROWS, of=lambda t, x, f=name: getattr(t.nn.functional, f)(x, (4,)))
    for name in OF_PAIRS.split():
        yield _case(name, ROWS, ROWS)
    for name in OF_MATRICES.split():
        yield _case(name, SQUARE)


def _case(name: str, *inputs: Any, of: Any = None) -> Case:
    function = of or (lambda t, *xs: attrgetter(name)(t)(*xs))
    return Case(f"torch.{name}", function, function, inputs)


def _binary_cross_entropy(t: Any, x: Any, y: Any) -> Any:
    """For probabilities, and targets that need no gradient."""
    return t.nn.functional.binary_cross_entropy(x.clamp(0, 1), y.detach().clamp(0, 1), reduction="none")
