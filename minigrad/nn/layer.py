"""Base classes of layers. A layer that calls one function declares that function's options as dataclass-like fields:

    class LeakyReLU(FunctionLayer, function=F.leaky_relu):
        negative_slope: float = 0.01
        inplace: bool = False

The fields become the arguments of ``__init__``, those of base classes first; type checkers recognise this. A Tensor
field becomes a buffer. ``forward`` passes its inputs to the function and, by name, the fields (and ``training``) that
the function accepts. ``extra_repr`` shows the fields.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from inspect import Parameter as Argument
from typing import Any, ClassVar, dataclass_transform

from ..autograd.tracebacks import border
from ..functions.creation import empty
from ..tensor import Tensor
from . import init
from .module import Module
from .parameter import Parameter


class Layer(Module):
    """A module whose ``repr`` shows attributes and whose ``reset_parameters`` initialises its parameters. Keywords in
    the class statement become attributes: ``class Conv1d(_Conv, axes=1)`` sets ``_axes``."""

    _fields: ClassVar[dict[str, Argument]] = {}
    _repr_fields: ClassVar[tuple[str, ...] | None] = None  # the attributes that ``repr`` shows; None means the fields
    _unnamed: ClassVar[int] = 0  # how many of them ``repr`` shows without names
    _usual: ClassVar[dict[str, Any]] = {"inplace": False}  # defaults that ``repr`` does not show

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__()
        for name, value in constants.items():
            setattr(cls, f"_{name}", staticmethod(value) if callable(value) else value)

    def _add_parameters(self, device: Any, dtype: Any, **shapes: Any) -> None:
        """Register a parameter for each shape; None reserves the name."""
        for name, shape in shapes.items():
            parameter = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def extra_repr(self) -> str:
        parts = []
        for i, name in enumerate(self._fields if self._repr_fields is None else self._repr_fields):
            value = getattr(self, name)
            if name == "bias" and not isinstance(value, bool):
                value = value is not None
            if name not in self._usual:
                parts.append(repr(value) if i < self._unnamed else f"{name}={value!r}")
            elif set(value if isinstance(value, tuple) else (value,)) != {self._usual[name]}:
                parts.append(f"{name}={value}")
        return ", ".join(parts)


class UniformLayer(Layer):
    """A layer whose weight and bias (if any) are initialised uniformly in ±1/√fan_in."""

    weight: Parameter

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)


@dataclass_transform(eq_default=False)
class FunctionLayer(Layer):
    """Base class of layers that call a function. A subclass is an ordinary class unless it sets ``function`` or
    ``fields``. Without a docstring, it gets the function's first paragraph. ``kw_only``: make fields keyword-only."""

    _function: ClassVar[Callable[..., Any]]
    _settings: ClassVar[tuple[str, ...]] = ()  # the attributes that the function accepts

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, fields: bool = False, kw_only: bool = False, **constants: Any
    ) -> None:
        super().__init_subclass__(**constants)
        if function is None and not fields:
            return
        kind = Argument.KEYWORD_ONLY if kw_only else Argument.POSITIONAL_OR_KEYWORD
        cls._fields = dict(cls._fields)
        for name, annotation in inspect.get_annotations(cls).items():
            if not str(annotation).startswith("ClassVar"):
                default = vars(cls).get(name, Argument.empty)
                cls._fields[name] = Argument(name, kind, default=default, annotation=annotation)
                if name in vars(cls):
                    delattr(cls, name)
        cls.__annotations__ = {}  # they are fields now, and refer to names in this file
        if cls._fields:
            cls.__init__ = border(_constructor(cls._fields))  # type: ignore[method-assign]
        if function is not None:
            about = (function.__doc__ or "").partition("\n\n")[0]
            cls.__doc__ = cls.__doc__ or f"{about}\n\n    See ``functional.{function.__name__}``."
            parameters = inspect.signature(function).parameters
            cls._function = staticmethod(function)
            cls._settings = tuple(name for name in (*cls._fields, "training") if name in parameters)

    def __post_init__(self) -> None:
        """Called after the fields are set. Subclasses check and convert them here."""

    def forward(self, *inputs: Any, **kwargs: Any) -> Tensor:
        settings = {name: getattr(self, name) for name in self._settings}
        return self._function(*inputs, **kwargs, **settings)


def _constructor(fields: dict[str, Argument]) -> Callable[..., None]:
    signature = inspect.Signature([Argument("self", Argument.POSITIONAL_OR_KEYWORD), *fields.values()])

    def __init__(self: FunctionLayer, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__(): {error}") from None
        bound.apply_defaults()
        Module.__init__(self)
        for name, field in fields.items():
            if str(field.annotation).startswith("Tensor"):
                self.register_buffer(name, bound.arguments[name])
            else:
                setattr(self, name, bound.arguments[name])
        self.__post_init__()

    vars(__init__)["__signature__"] = signature
    return __init__
