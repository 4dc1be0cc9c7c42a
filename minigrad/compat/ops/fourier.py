"""The discrete Fourier transform along an axis. It is linear, so its gradient is also a transform."""

from __future__ import annotations

from ...backend import xp
from ...backend.dtype import Array
from ...ops.complex import IN_PLACE_OF
from ...ops.op import op

_ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@op("dx = n · ifft(g)", x=lambda g, dim, norm: ifft(g, dim, _ADJOINT[norm]))
def fft(x: Array, dim: int, norm: str = "backward") -> Array:
    """Σₖ xₖ e^(-2πi jk/n), for complex x; ``norm`` "forward" divides by n, "ortho" by √n"""
    return xp(x).fft.fft(x, axis=dim, norm=norm).astype(x.dtype)


@op("dx = fft(g) / n", x=lambda g, dim, norm: fft(g, dim, _ADJOINT[norm]))
def ifft(x: Array, dim: int, norm: str = "backward") -> Array:
    """Σⱼ xⱼ e^(2πi jk/n) / n, for complex x; ``norm`` "forward" does not divide, "ortho" divides by √n"""
    return xp(x).fft.ifft(x, axis=dim, norm=norm).astype(x.dtype)


IN_PLACE_OF.update({fft: fft, ifft: ifft})
