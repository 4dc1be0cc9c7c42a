"""Spectra of signal frames: the short-time Fourier transform and its inverse."""

from __future__ import annotations

import numpy as np

from ...functions.define import method
from ...functions.names import tensor, view_as_real
from ...functions.shaping import unfold
from ...tensor import Tensor
from . import fft
from .windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window  # noqa: F401


@method
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of signal frames: (L,) -> (frequencies, frames), or (B, L) -> (B, frequencies, frames).

    Args:
        n_fft: the frame length. hop_length: the distance between frames, by default a quarter of a frame.
        window: the factors by which to multiply each frame, ones by default.
        win_length: the window length, by default the frame length. A shorter window is centred in the frame.
        center: centre frame t at t · hop_length instead of starting it there. The signal is first padded by half a
            frame at both ends (``pad_mode``: "reflect", "replicate", "circular" or "constant").
        normalized: divide by √n_fft.
        onesided: keep only n_fft // 2 + 1 frequencies, as the others are conjugates (the default for real input).
        return_complex: if False, return real and imaginary parts along a new last axis. Required for real signals.
        align_to_window: if not ``center``, start the window of frame t, not the frame, at t · hop_length.

    Raises RuntimeError if lengths do not match, or are not positive.
    """
    name, hop, width = _checked("stft", n_fft, hop_length, win_length, window)
    one = input.dim() == 1
    signal = input[None] if one else input  # (B, L)
    if signal.dim() != 2 or not (signal.is_floating_point() or signal.is_complex()):
        raise RuntimeError(f"{name}: expected a 1D or 2D tensor of floating point or complex values")
    is_complex = signal.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter for real inputs: use return_complex=True")
    if is_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        signal = _padded(signal, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window:
        signal = _padded(signal, _margins(width, n_fft))
    if n_fft > signal.shape[1]:
        raise RuntimeError(f"{name}: expected 0 < n_fft <= {signal.shape[1]}, the length of the signal")
    frames = unfold(signal, 1, n_fft, hop)  # (B, frames, n_fft)
    if window is not None or width < n_fft:
        frames = frames * _centred(window, width, n_fft, input)
    norm = "ortho" if normalized else "backward"
    half = not is_complex if onesided is None else onesided
    spectra = (fft.rfft if half else fft.fft)(frames, norm=norm).transpose(1, 2)
    spectra = spectra[0] if one else spectra
    return view_as_real(spectra) if return_complex is False else spectra


@method
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose ``stft`` with the same arguments is closest to the complex input (Griffin and Lim 1984):
    (frequencies, frames) -> (L,), or (B, frequencies, frames) -> (B, L).

    Args:
        onesided: whether the spectra have n_fft // 2 + 1 frequencies; inferred by default.
        length: the length to which to cut or zero-pad the signal.
        return_complex: whether the signal is complex.

    Raises RuntimeError if lengths do not match, or all windows are 0 at some position of the signal.
    """
    name, hop, width = _checked("istft", n_fft, hop_length, win_length, window)
    if not input.is_complex() or input.dim() not in (2, 3) or not input.numel():
        raise RuntimeError(f"{name}: expected a complex tensor (frequencies, frames) or (B, frequencies, frames)")
    spectra = (input[None] if input.dim() == 2 else input).transpose(1, 2)  # (B, frames, frequencies)
    half = spectra.shape[2] != n_fft if onesided is None else onesided
    if spectra.shape[2] != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(f"{name}: {spectra.shape[2]} frequencies do not match n_fft and onesided={half}")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex: use onesided=False")
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = fft.ifft(spectra, norm=norm)
    else:
        frames = fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    heights = _centred(window, width, n_fft, frames)
    start = n_fft // 2 if center else 0
    whole = n_fft + hop * (spectra.shape[1] - 1)
    stop = start + length if length is not None else whole - start
    signal = _overlapped(frames * heights, hop)[:, start:stop]
    envelope = _overlapped((heights * heights).expand(1, spectra.shape[1], n_fft), hop)[:, start:stop]
    if not envelope.numel() or float(envelope.detach().abs().min()) < 1e-11:
        raise RuntimeError(f"{name}: the signal cannot be recovered where all windows are 0")
    signal = signal / envelope
    signal = _padded(signal, (0, max(stop - start - signal.shape[1], 0)))
    return signal[0] if input.dim() == 2 else signal


def _checked(
    function: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
) -> tuple[str, int, int]:
    """Check the arguments. Return (the call as text for error messages, the hop length, the window length)."""
    name = f"{function}(n_fft={n_fft}, hop_length={hop_length}, win_length={win_length})"
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )
    return name, hop, width


def _centred(window: Tensor | None, width: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, or ones if None, centred in a frame: (n_fft,)."""
    return _padded(like.new_ones(width) if window is None else window, _margins(width, n_fft))


def _margins(width: int, n_fft: int) -> tuple[int, int]:
    """The lengths of a frame's parts before and after a centred window."""
    before = (n_fft - width) // 2
    return before, n_fft - width - before


def _padded(x: Tensor, widths: tuple[int, int], mode: str = "constant") -> Tensor:
    from ...nn.functional import pad  # imported here, because a program without layers does not load it

    return pad(x, widths, mode)


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """The sum of frames that start ``hop`` samples apart: (B, T, n) -> (B, n + hop (T - 1))."""
    batch, count, size = frames.shape
    starts = np.arange(count)[:, None] * hop
    places = tensor((starts + np.arange(size)).reshape(-1), device=frames.device)
    zeros = frames.new_zeros(batch, size + hop * (count - 1))
    return zeros.index_add(1, places, frames.reshape(batch, count * size))
