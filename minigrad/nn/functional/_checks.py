"""Helpers for the functions: argument checks, in-place ops, loss reduction, and spatial axes (expanding a number to
one per axis, adding a batch axis to single samples, and deriving the 1d, 2d and 3d variants of a function)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from ...autograd.inplace import mutate
from ...backend.dtype import channels_last
from ...backend.order import prefers_channels_last
from ...backend.window import Window
from ...ops.op import Op
from ...tensor import Tensor, apply

Flag = bool | None


def applied(op: Op, input: Tensor, inplace: bool, *attributes: Any) -> Tensor:
    """Apply an op, in place if ``inplace``, and return the result."""
    args = (input, *attributes)
    return mutate(input, op, args) if inplace else apply(op, args)


def same_dtype(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Reject operands of different dtypes."""
    dtype = input.array.dtype
    for role, other in others.items():
        if other is not None and other.array.dtype is not dtype and other.array.dtype != dtype:
            dtypes = f"but got {input.dtype} and {other.dtype}: convert one with .to(dtype)"
            raise RuntimeError(f"{name}: expected input and {role} to have the same dtype, {dtypes}")


def integers(name: str, role: str, input: Tensor) -> None:
    """Reject indices that are not integers."""
    if input.array.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: expected {role} with an integer dtype, but got {input.dtype}: use .long()")


def probability(name: str, p: float) -> None:
    """Reject a probability outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name} probability has to be between 0 and 1, but got {p}")


def reduction_of(size_average: Flag, reduce: Flag, reduction: str) -> str:
    """The reduction: "none", "mean" or "sum". PyTorch's two deprecated flags override it if either is set."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'none', 'mean' or 'sum'")
    return reduction


def reduced(
    losses: Tensor, reduction: str, size_average: Flag = None, reduce: Flag = None, weight: Tensor | None = None
) -> Tensor:
    """Multiply the losses by the weights, if any, and then average them, sum them or leave them unreduced."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = losses if weight is None else losses * weight
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


P = ParamSpec("P")
R = TypeVar("R")
Each = int | Sequence[int]
Ints = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def tuple_of(value: Any, n: int) -> tuple[Any, ...]:
    """A tuple of ``n`` numbers for a layer, from a sequence or from one number, which is repeated."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


def same_padding(kernel: Ints, dilation: Ints) -> Pairs:
    """The padding (before, after) of each axis that preserves its length."""
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple((t // 2, t - t // 2) for t in totals)


class Axes(NamedTuple):
    """The spatial axes of a function."""

    name: str  # the function's name, for error messages
    n: int  # the number of axes

    def each(self, argument: str, value: Any) -> Ints:
        """One number per axis, from a single number or a sequence. Raises RuntimeError for a wrong count."""
        if not isinstance(value, Sequence):
            return (int(value),) * self.n
        if len(value) not in (1, self.n):
            raise RuntimeError(f"{self.name}: expected {argument} to be one integer or {self.n}, but got {list(value)}")
        return tuple(map(int, value)) * (self.n if len(value) == 1 else 1)

    def window(self, kernel_size: Each, stride: Each, padding: Each | str, dilation: Each) -> Window:
        """The window with these settings; padding may also be "valid" (none) or "same" (lengths are preserved)."""
        kernel, steps = self.each("kernel_size", kernel_size), self.each("stride", stride)
        apart = self.each("dilation", dilation)
        for argument, values in (("kernel_size", kernel), ("stride", steps), ("dilation", apart)):
            if min(values) < 1:
                problem = f"non-positive {argument} is not supported: {argument} must be greater than zero"
                raise RuntimeError(f"{self.name}: {problem}, but got {values}")
        if padding == "same":
            if any(s != 1 for s in steps):
                raise RuntimeError(f"{self.name}: padding='same' is not supported for strided convolutions")
            return Window(kernel, steps, same_padding(kernel, apart), apart)
        if isinstance(padding, str) and padding != "valid":
            raise RuntimeError(f"{self.name}: Invalid padding string: {padding!r}: expected 'same' or 'valid'")
        pads = self.each("padding", 0 if padding == "valid" else padding)
        if min(pads) < 0:
            raise RuntimeError(f"{self.name}: negative padding is not supported, but got {pads}")
        return Window(kernel, steps, tuple((p, p) for p in pads), apart)

    def check_fits(self, window: Window, lengths: Ints) -> None:
        """Reject a window that is longer than the padded input."""
        if min(window.places(lengths)) < 1:
            sizes = f"({by(window.padded(lengths))}). Kernel size: ({by(window.span())})"
            rule = "Kernel size can't be greater than actual input size. Calculated output size:"
            result = f"{window.places(lengths)}, but its components must be at least one"
            raise RuntimeError(f"{self.name}: Calculated padded input size per channel: {sizes}. {rule} {result}")

    def batched(self, input: Tensor, run: Callable[[Tensor], Any]) -> Any:
        """Call ``run`` on an input (N, C, *lengths). A missing batch axis is added first, and removed from the result.
        Raises RuntimeError if the input has the wrong number of axes."""
        if input.array.ndim == self.n + 2:
            return run(input)
        if input.array.ndim != self.n + 1:
            expected = f"{self.n + 1}D (unbatched) or {self.n + 2}D (batched) input to {self.name}"
            remedy = "unsqueeze(0) adds a batch or channel axis"
            raise RuntimeError(f"Expected {expected}, but got input of size: {list(input.array.shape)}: {remedy}")
        out = run(input.unsqueeze(0))
        return tuple(o.squeeze(0) for o in out) if isinstance(out, tuple) else out.squeeze(0)


def check_not_empty(name: str, input: Tensor, n: int) -> None:
    """Reject an empty input (N, C, ...) or (C, ...) with ``n`` spatial axes, unless only N is 0."""
    if 0 in input.array.shape[-n - 1 :]:
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D input, not empty, but got {list(input.array.shape)}")


def laid_as(input: Tensor, out: Tensor) -> Tensor:
    """The output images, converted to channels-last memory format if the input has this format."""
    return out.contiguous(channels_last) if input.ndim == 4 and prefers_channels_last(input.array) else out


def by(numbers: Ints) -> str:
    """ "2 x 3" """
    return " x ".join(map(str, numbers))


def over(n: int, function: Callable[Concatenate[Axes, P], R]) -> Callable[P, R]:
    """Derive a function over ``n`` axes (``max_pool2d``) from one whose first argument is axes (``_max_pool``)."""
    axes = Axes(f"{function.__name__.strip('_')}{n}d", n)
    call: Callable[..., R] = function
    whole = signature(function)

    def of_n_axes(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return axes.batched(input, lambda x: call(axes, x, *args, **kwargs))

    public: Any = wraps(function)(of_n_axes)
    public.__name__ = public.__qualname__ = axes.name
    public.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])
    return cast(Callable[P, R], public)
