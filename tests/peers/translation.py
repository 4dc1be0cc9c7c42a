"""Translates samples from PyTorch's databases for minigrad: the same values, dtypes and functions."""

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence

import minigrad
from tests.support.parity import in_torch_words

DTYPES = {
    getattr(torch, name): getattr(minigrad, name)
    for name in (
        *("float64", "float32", "float16", "bfloat16", "complex64", "complex128"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
}
LAYOUTS = {torch.strided: minigrad.strided} | dict.fromkeys(
    (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
)
TOLERANCES = {torch.float32: 1e-4, torch.complex64: 1e-4, torch.float16: 1e-2, torch.bfloat16: 2e-2}  # others: 1e-7


class NoCounterpart(Exception):
    """A sample has a layout, dtype or device that minigrad lacks."""


class Translation:
    """Translates PyTorch arguments into minigrad arguments.

    Attributes:
        leaves: for each tensor that requires a gradient, PyTorch's and minigrad's.
    """

    def __init__(self) -> None:
        self.leaves: list[tuple[torch.Tensor, Any]] = []
        self._tensors: dict[int, tuple[torch.Tensor, Any]] = {}  # an argument may occur twice

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            return DTYPES[value] if value in DTYPES else _no_counterpart(value)
        if isinstance(value, torch.device):
            return minigrad.device(str(value))
        if isinstance(value, torch.Generator):
            return _no_counterpart(value)
        if isinstance(value, torch.Size):
            return minigrad.Size(value)
        if isinstance(value, PackedSequence):
            return minigrad.nn.utils.rnn.PackedSequence(*map(self, value))
        if isinstance(value, (tuple, list)):
            parts = [self(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {name: self(part) for name, part in value.items()}
        if isinstance(value, (torch.layout, torch.memory_format)):
            return LAYOUTS[value] if value in LAYOUTS else _no_counterpart(value)
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        if isinstance(value, types.BuiltinFunctionType):
            return getattr(minigrad.nn.functional, value.__name__)
        return function_for(value) if isinstance(value, types.FunctionType) else value

    def tensor(self, value: torch.Tensor) -> Any:
        """A tensor with the same values and strides."""
        if id(value) in self._tensors:
            return self._tensors[id(value)][1]
        if value.layout is not torch.strided or value.dtype not in DTYPES or value.is_meta:
            return _no_counterpart(value.dtype)
        result = minigrad.from_numpy(_with_its_memory(value))
        if value.requires_grad:
            result.requires_grad_(True)
            self.leaves.append((value, result))
        self._tensors[id(value)] = value, result
        return result

    def module(self, value: torch.nn.Module) -> Any:
        """A module of the same kind with the same parameters."""
        arguments: dict[str, Any] = {}
        if isinstance(value, torch.nn.TransformerEncoderLayer):
            attention, hidden = value.self_attn, value.linear1
            arguments = {"d_model": attention.embed_dim, "nhead": attention.num_heads}
            arguments |= {"dim_feedforward": hidden.out_features, "bias": hidden.bias is not None}
            arguments |= {"batch_first": attention.batch_first, "norm_first": value.norm_first}
            arguments |= {"dropout": value.dropout.p, "activation": self(value.activation)}
        result = getattr(minigrad.nn, type(value).__name__)(**arguments)
        result.load_state_dict(self(dict(value.state_dict())))
        return result


def _with_its_memory(value: torch.Tensor) -> Any:
    """A copy of a tensor's values; for a part of a larger memory, or an expanded tensor, the same view of a copy."""
    memory = value.untyped_storage().nbytes() // value.itemsize
    if memory == value.numel() or value.is_conj() or value.is_neg():
        return numbers(value).copy(order="K")
    whole = numbers(value.detach().as_strided((memory,), (1,), 0)).copy()
    steps = [n * whole.itemsize for n in value.stride()]
    return np.ndarray(tuple(value.shape), whole.dtype, whole, value.storage_offset() * whole.itemsize, steps)


def numbers(value: torch.Tensor) -> Any:
    """A tensor's values as a NumPy array."""
    plain = value.detach().resolve_conj().resolve_neg()
    if plain.dtype is torch.bfloat16:
        return plain.view(torch.int16).numpy(force=True).view(minigrad.bfloat16.numpy)
    return plain.numpy(force=True)


def _no_counterpart(value: Any) -> Any:
    raise NoCounterpart(str(value))


def seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The databases' ``wrapper_set_seed``; dropout draws from PyTorch's stream."""
    stream = minigrad.get_dropout_stream()
    with minigrad.random.fork_rng():
        minigrad.manual_seed(42)
        minigrad.set_dropout_stream("pytorch")
        try:
            return op(*args, **kwargs)
        finally:
            minigrad.set_dropout_stream(stream)


def function_for(function: Any) -> Any:
    """The function for an argument: PyTorch's by name, the databases' own translated."""
    if function.__module__ == "torch.nn.functional":
        return getattr(minigrad.nn.functional, function.__name__)
    return translated_function(function)


def translated_function(function: Any) -> Any:
    """One of the databases' own functions, such as ``lambda x: x.T``, with minigrad instead of torch."""
    names = {**function.__globals__, "torch": minigrad, "wrapper_set_seed": seeded, "np": np}
    code, name, defaults = function.__code__, function.__name__, function.__defaults__
    translated = types.FunctionType(code, names, name, defaults, function.__closure__)
    translated.__kwdefaults__ = function.__kwdefaults__
    return translated


def counterpart(name: str, function: Any) -> Any:
    """minigrad's counterpart of a PyTorch function, by name or, for one of the databases' own, by source text. Raises
    AttributeError or NotImplementedError if minigrad lacks the function."""
    if isinstance(function, types.FunctionType) and "testing" in function.__module__:
        return translated_function(function)
    target: Any = minigrad.Tensor if name.startswith("__") else minigrad
    for part in name.removeprefix("torch.").split("."):
        target = getattr(target, part)
    return getattr(minigrad.Tensor, name) if isinstance(target, minigrad.dtype) else target  # the method of that name


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in a result, in order."""
    if isinstance(value, (tuple, list)) and not isinstance(value, (torch.Size, minigrad.Size)):
        for part in value:
            yield from tensors(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors(part)
    else:
        yield value


def check_kind(theirs: Any, ours: Any) -> None:
    """Raise AssertionError unless several results are a tuple (or list) with PyTorch's type name and field names."""
    if isinstance(theirs, (tuple, list)):
        expected, names = type(theirs).__name__, getattr(theirs, "__match_args__", ())
        alike = isinstance(ours, list) == isinstance(theirs, list) and len(ours) == len(theirs)
        same_names = not names or (type(ours).__name__, type(ours).__match_args__) == (expected, names)
        assert alike and same_names, f"a {type(ours).__name__} of {len(ours)}, PyTorch's a {expected} of {len(theirs)}"
        for pair in zip(theirs, ours, strict=True):
            check_kind(*pair)


def check_equal(theirs: Any, ours: Any, what: str) -> None:
    """Raise AssertionError unless two results agree in shape, dtype and values."""
    if not isinstance(theirs, torch.Tensor):
        same = str(theirs) == in_torch_words(ours)
        same = same or (isinstance(theirs, float) and np.isclose(theirs, ours, equal_nan=True))
        assert same, f"{what} is {ours!r}, PyTorch's {theirs!r}"
        return
    assert isinstance(ours, minigrad.Tensor), f"{what} is a {type(ours).__name__}, PyTorch's a Tensor"
    assert tuple(theirs.shape) == tuple(ours.shape), f"{what}: shape {list(ours.shape)}, PyTorch's {list(theirs.shape)}"
    assert str(theirs.dtype) == in_torch_words(ours.dtype), f"{what}: dtype {ours.dtype}, PyTorch's {theirs.dtype}"
    if theirs.layout is not torch.strided:
        return
    expected, actual = numbers(theirs), ours.detach().array
    if theirs.dtype is torch.bfloat16:
        expected, actual = expected.astype(np.float32), actual.astype(np.float32)
    near = TOLERANCES.get(theirs.dtype, 1e-7)
    if not np.allclose(actual, expected, near, near, equal_nan=True):
        off = ~np.isclose(actual, expected, near, near, equal_nan=True)
        raise AssertionError(f"{what}: {actual[off][:3]}, PyTorch's {expected[off][:3]}")
