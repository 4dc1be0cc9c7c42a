"""Autoencoders: gradients, noise, PyTorch's numbers, and overfitting one batch."""

import pytest

import minigrad as mg
from examples.autoencoder.network import Autoencoder, mask
from minigrad import nn


def small() -> Autoencoder:
    mg.manual_seed(3)
    return Autoencoder(6, 5, 4, 2)


def test_the_loss_and_its_gradients() -> None:
    model = small().double()
    x = mg.rand(3, 6, dtype=mg.float64, requires_grad=True)
    read = mask(x.detach(), 0.3).requires_grad_()
    expected = ((model(read) - x).detach().numpy() ** 2).sum(1).mean()
    assert float(model.loss(x, read)) == pytest.approx(expected, rel=1e-6)
    assert mg.autograd.gradcheck(lambda x, read, *_: model.loss(x, read), [x, read, *model.parameters()])
    assert mg.autograd.gradgradcheck(lambda x, *_: model.loss(x), [x, *model.parameters()])


def test_the_decoder_mirrors_the_encoder() -> None:
    model = small()
    shapes = [tuple(layer.weight.shape) for layer in model.encoder[::2]]
    assert shapes == [(5, 6), (4, 5), (2, 4)]
    assert [tuple(layer.weight.shape[::-1]) for layer in model.decoder[::2]] == shapes[::-1]
    x = mg.rand(7, 6)
    assert model.encode(x).shape == (7, 2) and model(x).shape == (7, 6)
    assert bool(((model(x) > 0) & (model(x) < 1)).all())
    assert [type(after) for after in model.decoder[1::2]] == [nn.Tanh, nn.Tanh, nn.Sigmoid]


def test_noise_keeps_or_erases_pixels() -> None:
    x = mg.rand(200, 50) + 0.5
    generator = mg.Generator().manual_seed(0)
    noisy = mask(x, 0.3, generator)
    removed = noisy == 0
    assert bool((removed | (noisy == x)).all()) and abs(float(removed.float().mean()) - 0.3) < 0.02
    assert mg.equal(mask(x, 0.0), x) and not mask(x, 1.0).any()
    each = (mask(x, mg.linspace(0, 1, 200)[:, None]) == 0).float().mean(-1)
    assert each[0] == 0 and each[-1] == 1 and abs(float(each[90:110].mean()) - 0.5) < 0.05
