"""Signals: Fourier transforms and short-time ones, with PyTorch's numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, programs, raises
from tests.support.parity import host, ours, torch

Z = np.random.default_rng(0).standard_normal((3, 4, 5, 2))
FOURIER = programs("""
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


def real(t: Any, out: Any) -> Any:
    """The squares of all numbers in a result, complex ones split into two parts."""
    return (t.view_as_real(out.clone()) if t.is_complex(out) else out).square()


@cases("program", FOURIER)
def test_fourier_transforms_and_gradients(program: str) -> None:
    agree(lambda t, x: real(t, eval(program, {"t": t, "z": t.view_as_complex(x)})), Z, orders=2)


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


X = np.random.default_rng(0).standard_normal((2, 40))
WINDOW = np.random.default_rng(1).uniform(0.5, 2, 8)
PROGRAMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, x, w: t.stft(x, 8, return_complex=True),
    lambda t, x, w: x[0].stft(8, 3, window=w, return_complex=True),
    lambda t, x, w: t.stft(x, 13, 4, 8, w, normalized=True, return_complex=True),
    lambda t, x, w: t.stft(x, 11, 4, 8, w, center=False, onesided=False, return_complex=True),
    lambda t, x, w: t.stft(x, 11, 3, 8, w, center=False, return_complex=True, align_to_window=True),
    lambda t, x, w: t.view_as_complex(t.stft(x, 8, 2, window=w, pad_mode="constant", return_complex=False)),
    lambda t, x, w: t.stft(t.complex(x, x * x), 8, window=w, pad_mode="replicate"),
    lambda t, x, w: t.stft(x, 9, 2, return_complex=True, pad_mode="circular"),
    lambda t, x, w: t.istft(t.stft(x * x, 8, 2, return_complex=True), 8, 2, window=w),
    lambda t, x, w: t.istft(t.fft.fft(x.reshape(5, 16)).T[:5], 8, 3, 8, w, True, True, length=9),
    lambda t, x, w: t.istft(t.fft.fft(x.reshape(5, 16)).T, 16, 8, onesided=False, length=50),
    lambda t, x, w: t.istft(t.fft.rfft(x.reshape(5, 16)).T, 16, 8, center=False),
    lambda t, x, w: t.istft(t.fft.fft(x.reshape(10, 8)).T, 8, 2, window=w, return_complex=True),
]


@pytest.mark.filterwarnings("ignore:A window was not provided", "ignore:The length of signal", "ignore:stft with")
@cases("program", PROGRAMS)
def test_short_time_transforms_and_gradients(program: Callable[[Any, Any, Any], Any]) -> None:
    agree(lambda t, x, w: real(t, program(t, x, w)), X, WINDOW, orders=2)


@cases("onesided", [True, False])
def test_a_signal_is_reconstructed(onesided: bool) -> None:
    x = minigrad.randn(3, 64)
    window = minigrad.hann_window(16)
    spectra = x.stft(16, 4, window=window, onesided=onesided, return_complex=True)
    back = spectra.istft(16, 4, window=window, onesided=onesided, length=64)
    assert back.dtype is minigrad.float32
    np.testing.assert_allclose(host(back), host(x), atol=1e-5)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
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
    (lambda x: x.stft(8), "requires the return_complex parameter"),
    (lambda x: x.stft(8, 0, return_complex=True), "expected hop_length > 0"),
    (lambda x: x.stft(8, win_length=9, return_complex=True), "expected 0 < win_length <= n_fft"),
    (lambda x: x.stft(8, window=x, return_complex=True), r"size equal to win_length=8, but got .* \[20\]"),
    (lambda x: x.stft(21, center=False, return_complex=True), "expected 0 < n_fft <= 20"),
    (lambda x: x.stft(42, return_complex=True), "Padding size should be less"),
    (lambda x: x.long().stft(8, return_complex=True), "floating point or complex"),
    (lambda x: x[None, None].stft(8, return_complex=True), "1D or 2D"),
    (lambda x: x.stft(8, align_to_window=True, return_complex=True), "only be set when center = false"),
    (lambda x: minigrad.complex(x, x).stft(8, onesided=True), "Cannot have onesided output"),
    (lambda x: x.istft(8), "expected a complex tensor"),
    (lambda x: minigrad.complex(x, x).reshape(4, 5).istft(8), "4 frequencies do not match"),
    (lambda x: minigrad.complex(x, x).reshape(5, 4).istft(8, window=x[:8] * 0), "all windows are 0"),
    (lambda x: minigrad.complex(x, x).reshape(5, 4).istft(8, return_complex=True), "Cannot have onesided"),
]


@cases("call, text", REFUSED)
def test_bad_arguments_raise_errors(call: Callable[[Any], Any], text: str) -> None:
    raises(RuntimeError, text, lambda: call(minigrad.ones(20)))
