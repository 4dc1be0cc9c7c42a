"""``@layer``: a module that keeps its arguments and calls one function with them.

    @layer(F.leaky_relu)
    class LeakyReLU(FunctionLayer):
        negative_slope: float = 0.01
        inplace: bool = False

As with a dataclass, the annotated fields are the arguments of ``__init__``, and type checkers know it. ``forward``
passes them to the function by name; ``extra_repr`` shows them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter as Argument
from typing import Any, ClassVar, TypeVar, dataclass_transform

from ..tensor import Tensor
from .module import Module

C = TypeVar("C", bound="type[FunctionLayer]")


class FunctionLayer(Module):
    """The base of all classes made by ``@layer``."""

    _function: ClassVar[Callable[..., Any]]
    _fields: ClassVar[dict[str, Argument]] = {}
    _settings: ClassVar[tuple[str, ...]] = ()  # the attributes that the function takes
    _shown: ClassVar[tuple[str, ...] | None] = None  # the fields that ``repr`` shows; None: all

    def __post_init__(self) -> None:
        """Called after the fields have been set: check and convert them here."""

    def _forward_one(self, input: Tensor) -> Tensor:
        return self._call(input)

    forward: Callable[..., Any] = _forward_one  # layers with other inputs write their own

    def _call(self, *inputs: Any) -> Any:
        return self._function(*inputs, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self) -> str:
        names = self._fields if self._shown is None else self._shown
        shown = {name: getattr(self, name) for name in names}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if name != "inplace" or value)


@dataclass_transform(eq_default=False)
def layer(function: Callable[..., Any] | None = None, *, kw_only: bool = False) -> Callable[[C], C]:
    """A class decorator that writes ``__init__`` from the annotated fields of a class and its decorated bases.

    A field of type Tensor becomes a buffer. Undecorated subclasses inherit ``__init__`` as usual.

    Args:
        function: what ``forward`` calls: with the inputs, and with those fields (and ``training``) that it takes.
        kw_only: whether the fields of this class are keyword-only.
    """
    kind = Argument.KEYWORD_ONLY if kw_only else Argument.POSITIONAL_OR_KEYWORD

    def decorate(cls: C) -> C:
        fields = dict(cls._fields)
        for name, annotation in inspect.get_annotations(cls).items():
            if not str(annotation).startswith("ClassVar"):
                fields[name] = Argument(name, kind, default=vars(cls).get(name, Argument.empty), annotation=annotation)
                if name in vars(cls):
                    delattr(cls, name)
        cls._fields = fields
        if fields and "__init__" not in vars(cls):
            cls.__init__ = _constructor(fields)  # type: ignore[method-assign]
        if function is not None:
            taken = inspect.signature(function).parameters
            cls._function = staticmethod(function)
            cls._settings = tuple(name for name in (*fields, "training") if name in taken)
        return cls

    return decorate


def _constructor(fields: dict[str, Argument]) -> Callable[..., None]:
    """An ``__init__`` that sets the fields."""
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
