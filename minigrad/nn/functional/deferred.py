"""Logits that are computed when somebody looks at them; in a training step, nobody does.

A language model ends in ``logits = linear(states, W)`` and ``loss = cross_entropy(logits, target)``. With a
large vocabulary the logits (N, V) are larger than everything else, though only the loss is wanted. So
``linear`` hands out a ``Deferred`` in place of a large result: it knows its shape, and what it is the product
of. ``cross_entropy`` then asks it for the factors, and finds the loss from them in blocks
(``ops.loss.linear_cross_entropy``); whatever else touches its ``array`` has the logits computed, as if they
had been from the beginning:

- The node on the tape is made at once. What it keeps, the versions it checks and its age are as ever.
- The values are those of the time of the call. What is about to change memory says so first
  (``tape.before_change``), and a product that is still to be computed from it takes a copy of that factor.
- A loss that was found past the logits is led through them when their gradient is asked for (``Bypass``).

``type(logits)`` is ``Deferred`` until the logits are computed and ``Tensor`` from then on; ``isinstance``
knows it as a Tensor. Only a change that the library cannot see escapes it: one made through the NumPy array
behind a factor (``numpy()``, ``from_numpy()``) between the call and the first look at the logits. And as the
loss keeps all factors, ``backward`` refuses a change of the bias after the loss, which a linear layer would
not mind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np

from ...autograd import tape
from ...autograd.anomaly import is_anomaly_enabled
from ...autograd.mode import enable_grad, state
from ...autograd.recompute import in_region
from ...autograd.tape import Node, wrap
from ...autograd.walk import identity
from ...backend import Device, of
from ...backend.dtype import Array, DType
from ...ops import elementwise as e
from ...ops import linear as linear_ops
from ...ops import shape as shape_ops
from ...tensor import Tensor
from ._pending import Factors, Pending, Product, Step, lock

ENABLED = os.environ.get("MINIGRAD_DEFERRED_LOGITS", "1") != "0"  # 0 in the environment rules all this out
FEWEST_CLASSES = 1024  # results narrower than this are computed at once,
WIDENING = 6  # and those not wider than the input by this factor (a feed-forward layer widens by 4),
SMALLEST = 1 << 22  # and those of fewer bytes (4 MiB): they stay in cache, and nothing is to be gained
_NODES = 8  # at most so many nodes lead from logits to their cross-entropy


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """x Wᵀ + b, x (..., D), W (V, D), b (V) -> (..., V), to be computed later.

    None where that is of no use, or where the arguments do not fit: the ordinary op says so.
    """
    array, (classes, width) = x.array, weight.array.shape
    size = array.size // max(width, 1) * classes * array.itemsize
    if not (ENABLED and state.grad) or size < SMALLEST or classes < WIDENING * width or _is_observed():
        return None
    factors = (x, weight, bias)
    if array.shape[-1:] != (width,) or (bias is not None and bias.array.shape != (classes,)):
        return None
    mask = tape._mask(linear_ops.linear, factors)
    if not mask or not _alike(factors):
        return None
    shape = array.shape[:-1]
    outline = tape.record(linear_ops.linear, factors, mask, _placeholder((*shape, classes), array.dtype))
    product = Product(factors, mask, outline._node)
    layout, node = np.empty((*shape, 1), np.bool_), outline._node
    return _deferred(Recipe(outline, product, product, x, len(shape), layout, nodes=(node,)))


def _alike(factors: Factors) -> bool:
    """Whether they are of one backend and one dtype, float32 or float64."""
    first = factors[0].array
    same = all(f is None or (f.array.dtype == first.dtype and type(f.array) is type(first)) for f in factors)
    return same and first.dtype.kind == "f" and first.itemsize >= 4


def _is_observed() -> bool:
    """Whether someone counts the ops or looks at their results at once: checkpoints, anomaly mode."""
    return bool(state.observers) and (in_region() or is_anomaly_enabled())


def _placeholder(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array that has a shape and a dtype, and next to no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


# The tensor that stands for them --------------------------------------------------------------------------


class Recipe(NamedTuple):
    """How a ``Deferred`` comes from the factors, and what is known of it.

    Attributes:
        outline: a tensor with its shape, dtype and node, and with no values.
        pending: its value.
        product: the value that it is, or is a view of.
        x: the first factor in the shape of this tensor's rows, (..., D).
        class_axis: where the V classes are; the other axes are those of x, in order.
        layout: (..., 1), an array whose axes lie in memory as those of the rows do.
        above: the deferred tensors that it is a view (or a copy) of.
        nodes: its node, and those that lead from there to the product's.
    """

    outline: Tensor
    pending: Pending
    product: Product
    x: Tensor
    class_axis: int
    layout: np.ndarray[Any, Any]
    above: tuple[Tensor, ...] = ()
    nodes: tuple[Any, ...] = ()

    def in_rows(self) -> bool:
        """Whether the classes are the last axis."""
        return self.class_axis == self.outline.array.ndim - 1


def _deferred(recipe: Recipe) -> Deferred:
    made = object.__new__(Deferred)
    vars(made).update(vars(recipe.outline), _recipe=recipe)
    del vars(made)["array"]
    return made


class Deferred(Tensor):
    """A Tensor whose array is computed on first use, when it becomes a plain Tensor.

    Its shape and dtype are known before, and views that keep rows of classes whole are deferred themselves.
    """

    _recipe: Recipe

    @property
    def array(self) -> Array:
        """The values."""
        with lock:
            if "array" not in vars(self):
                self.array = self._recipe.pending.value()
        return vars(self)["array"]

    @array.setter
    def array(self, value: Array) -> None:
        vars(self)["array"] = value
        vars(self).pop("_recipe", None)
        self.__class__ = Tensor  # type: ignore[assignment]

    @property
    def device(self) -> Device:
        """Where the factors live, and the values will."""
        x = self._recipe.x.array
        return of(x).device_of(x)

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """In another dtype or on another device; of its own dtype itself, and not computed."""
        if (not kwargs and args == (self.dtype,)) or (not args and kwargs == {"dtype": self.dtype}):
            return self
        return super().to(*args, **kwargs)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements will lie in memory in the order of their indices."""
        recipe = self._recipe
        return recipe.layout.flags.c_contiguous if recipe.in_rows() else super().is_contiguous()

    def contiguous(self, memory_format: Any = None) -> Tensor:
        """Itself where its memory will be in order, else a copy that is."""
        recipe = self._recipe
        if not recipe.in_rows() or not self._leads_on():
            return super().contiguous()
        if recipe.layout.flags.c_contiguous:
            return self
        outline = tape.record(e.clone, (recipe.outline,), 1, recipe.outline.array)
        step = Step(recipe.pending, e.clone, (), True)
        layout = np.empty(recipe.layout.shape, np.bool_)
        return self._below(outline, step, recipe.x, recipe.class_axis, layout)

    def __getitem__(self, key: Any) -> Tensor:
        recipe, parts = vars(self).get("_recipe"), key if isinstance(key, tuple) else (key,)
        if recipe is None or not _keeps_rows(parts, len(recipe.outline.array.shape)):
            return super().__getitem__(key)
        made = self._viewed(Tensor.__getitem__, (key,), {})
        if made is None:
            return super().__getitem__(key)
        op, args, _ = made._view  # type: ignore[misc]
        step = Step(recipe.pending, op, args, False)
        return self._below(made, step, recipe.x[key], made.array.ndim - 1, recipe.layout[key])

    def _leads_on(self) -> bool:
        """Whether what is made of it can be deferred as well: it is recorded, and by no one who counts."""
        return "_recipe" in vars(self) and state.grad and self._needs and not _is_observed()

    def _viewed(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
        """The outline of what ``function`` makes of this tensor, with its node; None if it is to be computed
        instead: it is no view, or has no elements."""
        if not self._leads_on() or not self._recipe.in_rows() or any(isinstance(a, DType) for a in args):
            return None
        outline = self._recipe.outline
        made: Tensor = function(outline, *args, **kwargs)
        return made if made._base is outline and made.array.size else None

    def _in_other_rows(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], may_copy: bool = True
    ) -> Tensor | None:
        """A reshape that leaves the classes alone; None if it does not."""
        made = self._viewed(function, args, kwargs)
        if made is None or made.array.shape[-1] != self._recipe.outline.array.shape[-1]:
            return None
        recipe, rows = self._recipe, made.array.shape[:-1]
        layout = recipe.layout.reshape(*rows, 1)
        copies = not np.may_share_memory(layout, recipe.layout)
        if copies and not may_copy:
            return None
        op, given, _ = made._view  # type: ignore[misc]
        if copies:
            made._base, made._view, made._version, made._seen = None, None, [0, None], 0
        x = recipe.x.reshape(*rows, recipe.x.array.shape[-1])
        return self._below(made, Step(recipe.pending, op, given, copies), x, len(rows), layout)

    def _in_other_order(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tensor | None:
        """Axes exchanged."""
        made = self._viewed(function, args, kwargs)
        if made is None:
            return None
        op, given, _ = made._view  # type: ignore[misc]
        recipe, last = self._recipe, self._recipe.class_axis
        order = given[0] if op is shape_ops.permute else _exchanged(last + 1, *given)
        rows = [axis for axis in order if axis != last]
        x = recipe.x if rows == sorted(rows) else recipe.x.permute(*rows, last)
        layout = recipe.layout.transpose(order)
        return self._below(made, Step(recipe.pending, op, given, False), x, order.index(last), layout)

    def _below(self, outline: Tensor, step: Step, x: Tensor, class_axis: int, layout: np.ndarray[Any, Any]) -> Deferred:
        """The deferred tensor that is a view (or copy) of this one."""
        recipe = self._recipe
        if outline._base is not None:
            outline._base = self
        nodes = (outline._node, *recipe.nodes)
        above = (self, *recipe.above)
        return _deferred(Recipe(outline, step, recipe.product, x, class_axis, layout, above, nodes))

    # For cross_entropy --------------------------------------------------------------------------------------

    def rows_and_classes(self) -> Factors | None:
        """x (N, D), W and b of the logits (N, V), or (B, V, ...) with N = B ...; None where the logits have
        to be computed: they are already, their gradient is asked for, or a factor has changed since."""
        if not self._leads_on():
            return None
        recipe, product, x = self._recipe, self._recipe.product, self._recipe.x
        if recipe.class_axis != min(1, recipe.outline.array.ndim - 1) or not product.is_intact():
            return None
        if of(x.array).kernel("linear_cross_entropy") is None or _have_hooks(recipe.nodes):
            return None
        rows = x if x.array.ndim == 2 else x.reshape(-1, x.array.shape[-1])
        return rows, product.factors[1], product.factors[2]

    def bypassed_by(self, loss: Tensor, ordinary: Callable[[Tensor], Tensor]) -> None:
        """Note a loss that was found without the logits, and how it is found from them."""
        if loss._node is None:
            return
        bypass = Bypass(loss._node, self._recipe, self._version, ordinary)
        for tensor in (self, *self._recipe.above):
            tensor._bypasses = [*(tensor._bypasses or ()), bypass]


def _keeps_rows(index: tuple[Any, ...], ndim: int) -> bool:
    """Whether an index is of numbers and slices, and takes all of the last axis."""
    if any(part.__class__ not in (int, slice, type(Ellipsis)) for part in index) or index.count(Ellipsis) > 1:
        return False
    plain = [part for part in index if part is not Ellipsis]
    reaches_last = len(plain) >= ndim or (len(plain) < len(index) and index[-1] is not Ellipsis)
    return not reaches_last or plain[-1] == slice(None)


def _exchanged(ndim: int, first: int, second: int) -> tuple[int, ...]:
    """The order of axes of which two are exchanged."""
    order = list(range(ndim))
    order[first], order[second] = second, first
    return tuple(order)


def _have_hooks(nodes: tuple[Node, ...]) -> bool:
    return any(hooks for node in nodes if node.hooks for hooks in node.hooks.values())


def _known(name: str) -> Any:
    """What a Tensor tells of itself without its values: the outline's."""
    ordinary = getattr(Tensor, name)
    if isinstance(ordinary, property):
        return property(lambda self: getattr(self._recipe.outline, name), doc=ordinary.__doc__)
    return wraps(ordinary)(lambda self, *args: ordinary(self._recipe.outline, *args))


def _view(name: str, defer: Callable[..., Tensor | None]) -> Any:
    """A method that gives a deferred tensor where ``defer`` can make one."""
    ordinary = getattr(Tensor, name)

    @wraps(ordinary)
    def method(self: Deferred, *args: Any, **kwargs: Any) -> Tensor:
        made = defer(self, ordinary, args, kwargs)
        return ordinary(self, *args, **kwargs) if made is None else made

    return method


for _name in (
    "shape",
    "dtype",
    "ndim",
    "itemsize",
    "nbytes",
    "size",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "element_size",
    "is_floating_point",
    "is_complex",
    "__len__",
):
    setattr(Deferred, _name, _known(_name))
Deferred.view = _view("view", partial(Deferred._in_other_rows, may_copy=False))  # type: ignore[method-assign]
for _name in ("reshape", "flatten", "unflatten", "squeeze", "unsqueeze"):
    setattr(Deferred, _name, _view(_name, Deferred._in_other_rows))
for _name in ("transpose", "swapaxes", "permute", "movedim", "moveaxis"):
    setattr(Deferred, _name, _view(_name, Deferred._in_other_order))


# A gradient of the logits after all -----------------------------------------------------------------------


class Bypass:
    """A loss that was found without its logits, until a gradient of theirs is asked for.

    Args:
        node: the loss's.
        recipe: of the logits that it is the loss of.
        version: the logits' version: changing them after the loss is an error, as ever.
        ordinary: the loss of a tensor of logits.

    Attributes:
        numbers: ages that are kept free for nodes between the logits' node and the loss's.
    """

    def __init__(self, node: Node, recipe: Recipe, version: list[Any], ordinary: Callable[[Tensor], Tensor]) -> None:
        self.node, self.pending, self.source, self.ordinary = node, recipe.pending, recipe.nodes[0], ordinary
        self.numbers = [next(tape._order) for _ in range(_NODES)]
        node.order = next(tape._order)
        node.versions.append((version, version[0]))
        self.closed = False

    def close(self) -> None:
        """Lead the loss through the logits: its node becomes an identity after the nodes of the ordinary
        loss, which is computed now."""
        node = self.node
        with lock:
            if self.closed or any(version[0] != noted for version, noted in node.versions):
                return  # the walk will refuse what has been changed
            self.closed = True
        loss, made = self._recorded()
        for between, number in zip(made, self.numbers[-len(made) :], strict=True):
            between.order = number
        node.op, node.plan = identity, identity.plan(1, 1)
        node.edges = [(loss._node, 0, loss.array.shape, loss.array.dtype)]
        node.residual = node.out = None
        if node.saved is not None:  # else a walk has freed it, and the next will say so
            node.saved, node.versions = [], []

    def _recorded(self) -> tuple[Tensor, list[Node]]:
        """The ordinary loss, and its nodes by age."""
        logits: Tensor = wrap(self.pending.value())
        logits._node, logits._needs = self.source, True
        since, observers = next(tape._order), state.observers
        state.observers = ()
        try:
            with enable_grad():
                loss = self.ordinary(logits)
        finally:
            state.observers = observers
        made: set[Node] = set()
        stack = [loss._node]
        while stack:
            node = stack.pop()
            if isinstance(node, Node) and node.order > since and node not in made:
                made.add(node)
                stack += [edge[0] for edge in node.edges]
        return loss, sorted(made, key=lambda n: n.order)
