"""Fourier transforms: PyTorch's numbers and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, host, ours, theirs, torch

pytestmark = pytest.mark.parity
Z = np.random.default_rng(0).standard_normal((3, 4, 5, 2))
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "fft": lambda t, z: t.fft.fft(z),
    "fft_of_real": lambda t, z: t.fft.fft(t.fft.fft(z.real, dim=-1), dim=1).real,
    "fft_cut": lambda t, z: t.fft.fft(z, n=3, dim=1, norm="ortho"),
    "fft_filled": lambda t, z: t.fft.fft(z, 7, 0, "forward"),
    "ifft": lambda t, z: t.fft.ifft(z, dim=1),
    "ifft_forward": lambda t, z: t.fft.ifft(z, norm="forward"),
    "fftn": lambda t, z: t.fft.fftn(z.real, dim=(1, 2)).real,
    "fftn_all": lambda t, z: t.fft.fftn(z),
    "fftn_lengths": lambda t, z: t.fft.fftn(z, s=(3, 6)),
    "ifftn": lambda t, z: t.fft.ifftn(z, dim=(0, 2), norm="ortho"),
    "fft2": lambda t, z: t.fft.fft2(z),
    "ifft2": lambda t, z: t.fft.ifft2(z, s=(2, -1)),
    "rfft": lambda t, z: t.fft.rfft(z.real),
    "rfft_even": lambda t, z: t.fft.rfft(z.real, dim=1, norm="ortho"),
    "irfft": lambda t, z: t.fft.irfft(z),
    "irfft_odd": lambda t, z: t.fft.irfft(z, n=7, dim=1),
    "irfft_cut": lambda t, z: t.fft.irfft(z, 5, norm="forward"),
    "convolution": lambda t, z: t.fft.irfft(t.fft.rfft(z.real, n=9) * t.fft.rfft(z.imag, n=9), n=9)[..., :5],
    "fftshift": lambda t, z: t.fft.fftshift(z),
    "ifftshift": lambda t, z: t.fft.ifftshift(z, dim=(0, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    found = []
    for t, make in ((minigrad, ours), (torch, theirs)):
        x = make(Z, True)
        out = PROGRAMS[name](t, t.view_as_complex(x))
        out = t.view_as_real(out.clone()) if t.is_complex(out) else out
        weights = make(np.random.default_rng(1).standard_normal(tuple(out.shape)))
        (first,) = t.autograd.grad((out * out * weights).sum(), x, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), x)
        found.append((out, first, second))
    for mine, other in zip(*found, strict=True):
        assert_close(mine, other)


def test_dtypes_and_frequencies() -> None:
    assert minigrad.fft.fft(minigrad.ones(4)).dtype is minigrad.complex64
    assert minigrad.fft.fft(minigrad.arange(4)).dtype is minigrad.complex64
    for n in (5, 6):
        for name in ("fftfreq", "rfftfreq"):
            found, expected = getattr(minigrad.fft, name)(n, d=0.5), getattr(torch.fft, name)(n, d=0.5)
            np.testing.assert_array_equal(host(found), host(expected))
    assert minigrad.fft.fftfreq(4, dtype=minigrad.float64).dtype is minigrad.float64


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: minigrad.fft.fft(x, norm="other"), "Invalid normalization mode: 'other'"),
        (lambda x: minigrad.fft.fft(x, n=0), "Invalid number of data points"),
        (lambda x: minigrad.fft.irfft(x[:1]), "Invalid number of data points"),
        (lambda x: minigrad.fft.rfft(minigrad.fft.fft(x)), "rfft expects a real input"),
        (lambda x: minigrad.fft.fftn(x, s=(2,), dim=(0, 0)), "must have the same length"),
    ],
)
def test_bad_arguments_are_told(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(minigrad.ones(4))
