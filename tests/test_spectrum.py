"""Short-time Fourier transforms: PyTorch's numbers and gradients, and signals that come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import host

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
def test_values_and_gradients(program: Callable[[Any, Any, Any], Any]) -> None:
    def real(t: Any, x: Any, w: Any) -> Any:
        out = program(t, x, w)
        return (t.view_as_real(out.clone()) if t.is_complex(out) else out).square()

    agree(real, X, WINDOW, orders=2)


@cases("onesided", [True, False])
def test_a_signal_comes_back(onesided: bool) -> None:
    x = minigrad.randn(3, 64)
    window = minigrad.hann_window(16)
    spectra = x.stft(16, 4, window=window, onesided=onesided, return_complex=True)
    back = spectra.istft(16, 4, window=window, onesided=onesided, length=64)
    assert back.dtype is minigrad.float32
    np.testing.assert_allclose(host(back), host(x), atol=1e-5)


@cases(
    "call, text",
    [
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
        (lambda x: minigrad.complex(x, x).reshape(5, 4).istft(8, window=x[:8] * 0), "windows leave places"),
        (lambda x: minigrad.complex(x, x).reshape(5, 4).istft(8, return_complex=True), "Cannot have onesided"),
    ],
)
def test_bad_arguments_are_told(call: Callable[[Any], Any], text: str) -> None:
    raises(RuntimeError, text, lambda: call(minigrad.ones(20)))
