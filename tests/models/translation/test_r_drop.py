"""R-Drop against its formula in float64, and its gradient by finite differences."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.translation.encoder_decoder import r_drop_loss
from minigrad_models.translation.transformer import Config, Transformer, pad

B, T, D, V = 2, 3, 4, 6
TARGET = [[4, 5, 2], [3, 2, PAD]]


def drawn(*shape: int) -> mg.Tensor:
    return mg.randn(*shape, dtype=mg.float64, requires_grad=True)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def by_hand(states: np.ndarray, weight: np.ndarray, alpha: float, smoothing: float) -> float:
    """The mean over tokens of half of equations 1 to 4."""
    losses = []
    for b in range(B):
        for t in range(T):
            if TARGET[b][t] == PAD:
                continue
            p1, p2 = (softmax(weight @ states[i, t]) for i in (b, B + b))
            q = np.full(V, smoothing / V)
            q[TARGET[b][t]] += 1 - smoothing
            nll = -(q * np.log(p1)).sum() - (q * np.log(p2)).sum()
            kl = ((p1 * np.log(p1 / p2)).sum() + (p2 * np.log(p2 / p1)).sum()) / 2
            losses.append((nll + alpha * kl) / 2)
    return float(np.mean(losses))


@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (5.0, 0.0), (2.0, 0.1)])
def test_it_matches_the_papers_formula(alpha: float, smoothing: float) -> None:
    states, weight, target = drawn(2 * B, T, D), drawn(V, D), mg.tensor(TARGET)
    loss = r_drop_loss(states, weight, target, alpha, smoothing, PAD)
    expected = by_hand(states.detach().numpy(), weight.detach().numpy(), alpha, smoothing)
    assert math.isclose(float(loss), expected, rel_tol=1e-12)
    assert mg.autograd.gradcheck(lambda s, w: r_drop_loss(s, w, target, alpha, smoothing, PAD), [states, weight])


def test_the_models_loss(device: str) -> None:
    """Without dropout both passes agree, and the loss is the plain one. With dropout it is larger."""
    source = pad([[4, 5, EOS], [6, EOS]], device)
    target = pad([[BOS, 7, 8, EOS], [BOS, 9, EOS]], device)
    config = (11, 8, 2, 1, 16)
    mg.manual_seed(0)
    model = Transformer(Config(*config, 0.3)).to(device)
    losses = []
    for alpha in (1e-9, 5.0):
        mg.manual_seed(1)
        losses.append(float(model.loss(source, target, 0.1, alpha)))
    assert losses[1] > losses[0] + 1e-3
    model.eval()
    plain, twice = model.loss(source, target, 0.1), model.loss(source, target, 0.1, 5.0)
    assert math.isclose(float(plain), float(twice), rel_tol=1e-5)
    gradients, expected = (mg.autograd.grad(loss, list(model.parameters())) for loss in (twice, plain))
    assert all(mg.allclose(a.cpu(), b.cpu(), atol=1e-5) for a, b in zip(gradients, expected, strict=True))


def test_a_negative_weight_is_refused() -> None:
    for alpha in (-1.0, math.nan):
        with pytest.raises(ValueError, match="R-Drop's alpha must be 0 or more"):
            r_drop_loss(drawn(2 * B, T, D), drawn(V, D), mg.tensor(TARGET), alpha)
