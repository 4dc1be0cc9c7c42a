"""Fourier transforms: PyTorch's numbers and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, programs, raises
from tests.support.parity import host, ours, torch

Z = np.random.default_rng(0).standard_normal((3, 4, 5, 2))
PROGRAMS = programs("""
t.fft.fft(z); t.fft.fft(t.fft.fft(z.real, dim=-1), dim=1).real; t.fft.fft(z, n=3, dim=1, norm="ortho");
t.fft.fft(z, 7, 0, "forward"); t.fft.ifft(z, dim=1); t.fft.ifft(z, norm="forward");
t.fft.fftn(z.real, dim=(1, 2)).real; t.fft.fftn(z); t.fft.fftn(z, s=(3, 6)); t.fft.ifftn(z, dim=(0, 2), norm="ortho");
t.fft.fft2(z); t.fft.ifft2(z, s=(2, -1)); t.fft.rfft(z.real); t.fft.rfft(z.real, dim=1, norm="ortho"); t.fft.irfft(z);
t.fft.irfft(z, n=7, dim=1); t.fft.irfft(z, 5, norm="forward");
t.fft.irfft(t.fft.rfft(z.real, n=9) * t.fft.rfft(z.imag, n=9), n=9)[..., :5];
t.fft.rfftn(z.real, s=(3, -1), dim=(0, 1), norm="ortho"); t.fft.rfft2(z.imag, s=(5, 4));
t.fft.irfftn(z, norm="forward"); t.fft.irfftn(z, s=(2, 7)); t.fft.irfft2(z); t.fft.hfft(z, 7);
t.fft.hfft(z, dim=1, norm="forward"); t.fft.ihfft(z.real, dim=1, norm="ortho"); t.fft.hfftn(z, dim=(2, 1));
t.fft.ihfftn(z.real, s=(4, 4)); t.fft.hfft2(z, s=(3, 5), norm="forward"); t.fft.ihfft2(z.imag); t.fft.fftshift(z);
t.fft.ifftshift(z, dim=(0, 2))
""")


@cases("program", PROGRAMS)
def test_values_and_gradients(program: str) -> None:
    def real(t: Any, x: Any) -> Any:
        out = eval(program, {"t": t, "z": t.view_as_complex(x)})
        return (t.view_as_real(out.clone()) if t.is_complex(out) else out).square()

    agree(real, Z, orders=2)


def test_dtypes_and_frequencies() -> None:
    assert minigrad.fft.fft(minigrad.ones(4)).dtype is minigrad.complex64
    assert minigrad.fft.fft(minigrad.arange(4)).dtype is minigrad.complex64
    for n in (5, 6):
        for name in ("fftfreq", "rfftfreq"):
            actual, expected = getattr(minigrad.fft, name)(n, d=0.5), getattr(torch.fft, name)(n, d=0.5)
            np.testing.assert_array_equal(host(actual), host(expected))
    assert minigrad.fft.fftfreq(4, dtype=minigrad.float64).dtype is minigrad.float64


def test_numpys_spelling_and_out() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    actual = minigrad.fft.rfft(ours(x), axis=0)  # type: ignore[call-arg]
    np.testing.assert_allclose(host(actual), np.fft.rfft(x, axis=0), atol=1e-14)
    out = minigrad.zeros(1, dtype=minigrad.complex128)
    assert minigrad.fft.ifft(ours(x), out=out) is out  # type: ignore[call-arg]
    np.testing.assert_allclose(host(out), np.fft.ifft(x), atol=1e-14)


@cases(
    "call, text",
    [
        (lambda x: minigrad.fft.fft(x, norm="other"), "Invalid normalization mode: 'other'"),
        (lambda x: minigrad.fft.fft(x, n=0), "Invalid number of data points"),
        (lambda x: minigrad.fft.irfft(x[:1]), "Invalid number of data points"),
        (lambda x: minigrad.fft.rfft(minigrad.fft.fft(x)), "rfft expects a real input"),
        (lambda x: minigrad.fft.fftn(x, s=(2,), dim=(0, 0)), "must have the same length"),
        (lambda x: minigrad.fft.fftn(x, s=(2, 2)), "Got shape with 2 values but input tensor only has 1"),
        (lambda x: minigrad.fft.fft2(x[None], dim=(0, -2)), "FFT dims must be unique"),
        (lambda x: minigrad.fft.rfftn(x, dim=()), "rfftn must transform at least one axis"),
        (lambda x: minigrad.fft.irfftn(x, dim=()), "irfftn must transform at least one axis"),
        (lambda x: minigrad.fft.ihfftn(minigrad.fft.fft(x)), "ihfftn expects a real input"),
        (lambda x: minigrad.fft.hfft(x, norm="other"), "Invalid normalization mode: 'other'"),
    ],
)
def test_bad_arguments_are_told(call: Callable[[Any], Any], text: str) -> None:
    raises(RuntimeError, text, lambda: call(minigrad.ones(4)))
