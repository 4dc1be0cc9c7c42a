"""Methods that change a tensor in place, ``add_`` and its kind: the function's name with an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.inplace import bump, check_mutable, mutate, rebase
from ..autograd.mode import state
from ..autograd.tape import Variable, wrap
from ..autograd.views import Viewing
from ..backend import dtype as dt
from ..backend import xp
from ..ops import elementwise as e
from ..ops import indexing as index_ops
from ..ops import special as s
from ..ops.op import Op
from . import indexing, linalg, pointwise, random, reduction, shaping
from .arguments import factors_first, operand, sizes

if TYPE_CHECKING:
    from ..tensor import Tensor

Method = Callable[..., Any]


def by_op(op: Op, defaults: tuple[Any, ...] = ()) -> Method:
    """The method ``name_`` that changes a tensor to what ``op`` makes of it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = tuple(a if (a := operand(v, self)) is not NotImplemented else v for v in args)
        bound = op.bind((self, *given, *defaults[len(given) :]), kwargs)
        return mutate(self, op, bound)

    method.__name__ = f"{op.name}_"
    method.__doc__ = f"In place: {op.__doc__}"
    return method


def by_function(function: Callable[..., Any], name: str = "") -> Method:
    """The method ``name_`` that changes a tensor to what ``function`` makes of it."""
    name = name or function.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_mutable(self, name)
        source = _before(self) if state.grad and _any_wanted(self, *args, *kwargs.values()) else self
        return _become(self, function(source, *args, **kwargs), name)

    method.__name__ = f"{name}_"
    method.__doc__ = f"In place: {function.__doc__}"
    return method


def _any_wanted(*values: Any) -> bool:
    return any(isinstance(v, Variable) and v._wanted() for v in values)


def _before(self: Any) -> Any:
    """A tensor as it is before the change, with its history and memory of its own, for rules to keep."""
    made = wrap(self.array.copy())
    (made._node, made._slot), made._needs = self._source(), self._needs
    return made


def _become(self: Any, result: Any, name: str) -> Any:
    """Take over the values and the history of a tensor that fits."""
    if result.array.shape != self.array.shape:
        raise RuntimeError(
            f"output with shape {list(self.array.shape)} doesn't match the broadcast shape "
            f"{list(result.array.shape)}: {name}_ cannot change a tensor's shape in place"
        )
    if result.array.dtype.kind != "b" and not dt.can_cast(result.dtype, self.dtype):
        raise RuntimeError(
            f"result type {result.dtype} can't be cast to the desired output type {self.dtype} in {name}_"
        )
    self.array[...] = result.array
    bump(self, name)
    if state.grad:
        rebase(self, result if result.array.dtype == self.array.dtype else result.to(self.dtype))
    return self


def by_view(function: Callable[..., Any], name: str = "") -> Method:
    """The method ``name_`` that shows a tensor's memory in another shape from now on."""
    name = name or function.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_mutable(self, name)
        before = object.__new__(type(self))
        before.__dict__.update(self.__dict__)
        seen = function(before, *args, **kwargs)
        if seen is not before:
            self.array, self._base, self._view = seen.array, seen._base, seen._view
            self._seen, self._node, self._slot, self._needs = seen._seen, seen._node, seen._slot, seen._needs
        return self

    method.__name__ = f"{name}_"
    method.__doc__ = f"In place: {function.__doc__}"
    return method


class InPlace(Viewing):
    """What a Tensor has of such methods."""

    # Each element -------------------------------------------------------------------------------------------

    mul_, div_, pow_ = by_op(e.mul), by_function(pointwise.div), by_op(e.pow)
    multiply_, divide_, true_divide_ = mul_, div_, by_op(e.div)
    remainder_, fmod_, lerp_ = by_op(e.remainder), by_op(e.fmod), by_op(e.lerp)
    floor_divide_, atan2_, hypot_ = by_op(e.floor_divide), by_op(e.atan2), by_op(e.hypot)
    arctan2_ = atan2_
    neg_, abs_, sign_, square_ = by_op(e.neg), by_op(e.abs), by_op(e.sign), by_op(e.square)
    negative_, absolute_, sgn_ = neg_, abs_, sign_
    exp_, exp2_, expm1_ = by_op(e.exp), by_op(e.exp2), by_op(e.expm1)
    log_, log2_, log10_, log1p_ = by_op(e.log), by_op(e.log2), by_op(e.log10), by_op(e.log1p)
    sqrt_, rsqrt_, reciprocal_ = by_op(e.sqrt), by_op(e.rsqrt), by_op(e.reciprocal)
    sin_, cos_, tan_, sinh_, cosh_ = by_op(e.sin), by_op(e.cos), by_op(e.tan), by_op(e.sinh), by_op(e.cosh)
    asin_, acos_, atan_ = by_op(e.asin), by_op(e.acos), by_op(e.atan)
    asinh_, acosh_, atanh_, tanh_ = by_op(e.asinh), by_op(e.acosh), by_op(e.atanh), by_op(e.tanh)
    arcsin_, arccos_, arctan_, arcsinh_, arccosh_, arctanh_ = asin_, acos_, atan_, asinh_, acosh_, atanh_
    erf_, erfc_, erfinv_ = by_op(e.erf), by_op(e.erfc), by_op(e.erfinv)
    sigmoid_, relu_ = by_op(e.sigmoid), by_op(e.relu)
    floor_, ceil_, trunc_ = by_op(e.floor), by_op(e.ceil), by_op(e.trunc)
    round_ = by_function(pointwise.round)
    fix_, frac_, logit_ = trunc_, by_function(pointwise.frac), by_function(pointwise.logit)
    deg2rad_, rad2deg_ = by_function(pointwise.deg2rad), by_function(pointwise.rad2deg)
    sinc_, xlogy_ = by_function(pointwise.sinc), by_function(pointwise.xlogy)
    heaviside_ = by_function(pointwise.heaviside)
    clamp_, nan_to_num_ = by_function(pointwise.clamp), by_function(pointwise.nan_to_num)
    clip_, clamp_min_, clamp_max_ = clamp_, by_function(pointwise.clamp_min), by_function(pointwise.clamp_max)
    copysign_, ldexp_ = by_function(pointwise.copysign), by_function(pointwise.ldexp)
    float_power_ = by_function(pointwise.float_power)
    eq_, ne_, lt_ = by_function(pointwise.eq), by_function(pointwise.ne), by_function(pointwise.lt)
    le_, gt_, ge_ = by_function(pointwise.le), by_function(pointwise.gt), by_function(pointwise.ge)
    not_equal_, less_, less_equal_, greater_, greater_equal_ = ne_, lt_, le_, gt_, ge_
    logical_and_, logical_or_ = by_function(pointwise.logical_and), by_function(pointwise.logical_or)
    logical_xor_, logical_not_ = by_function(pointwise.logical_xor), by_function(pointwise.logical_not)
    bitwise_and_, bitwise_or_ = by_op(e.bitwise_and), by_op(e.bitwise_or)
    bitwise_xor_, bitwise_not_ = by_op(e.bitwise_xor), by_op(e.bitwise_not)
    bitwise_left_shift_, bitwise_right_shift_ = by_op(e.bitwise_left_shift), by_op(e.bitwise_right_shift)
    gcd_, lcm_ = by_function(pointwise.gcd), by_function(pointwise.lcm)
    lgamma_, digamma_, i0_ = by_op(s.lgamma), by_op(s.digamma), by_op(s.i0)
    nextafter_ = by_function(pointwise.nextafter)
    masked_fill_ = by_function(indexing.masked_fill)

    @factors_first
    def add_(self, other: Any, *, alpha: float = 1) -> Any:
        """In place: self + alpha · other."""
        scaled = other if alpha == 1 else other * alpha
        return mutate(self, e.add, (self, operand(scaled, self)))

    @factors_first
    def sub_(self, other: Any, *, alpha: float = 1) -> Any:
        """In place: self - alpha · other."""
        scaled = other if alpha == 1 else other * alpha
        return mutate(self, e.sub, (self, operand(scaled, self)))

    subtract_ = sub_

    @factors_first
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Any:
        """In place: self + value · tensor1 · tensor2."""
        return self.add_(tensor1 * tensor2, alpha=value)

    @factors_first
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Any:
        """In place: self + value · tensor1 / tensor2."""
        return self.add_(tensor1 / tensor2, alpha=value)

    # Rows, matrices, triangles ------------------------------------------------------------------------------

    cumsum_, cumprod_ = by_function(reduction.cumsum), by_function(reduction.cumprod)
    tril_, triu_ = by_function(shaping.tril), by_function(shaping.triu)
    addmm_, addmv_, addr_ = by_function(linalg.addmm), by_function(linalg.addmv), by_function(linalg.addr)
    addbmm_, baddbmm_ = by_function(linalg.addbmm), by_function(linalg.baddbmm)

    # Elements by index --------------------------------------------------------------------------------------

    index_fill_, index_copy_ = by_function(indexing.index_fill), by_function(indexing.index_copy)
    index_add_, index_put_ = by_function(indexing.index_add), by_function(indexing.index_put)
    masked_scatter_, put_ = by_function(indexing.masked_scatter), by_function(indexing.put)
    scatter_reduce_, index_reduce_ = by_function(indexing.scatter_reduce), by_function(indexing.index_reduce)
    renorm_ = by_function(reduction.renorm)

    def scatter_(
        self: Any, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
    ) -> Any:
        """In place: self[index[i, j], j] = src[i, j] for dim 0, and so on; ``reduce`` "add" or "multiply"."""
        if reduce is not None:
            args = (dim, index, value if src is None else src)
            return by_function(indexing.scatter)(self, *args, reduce=reduce)
        args = indexing.scatter_arguments(self, dim, index, value if src is None else src)
        return mutate(self, index_ops.scatter, args)

    def scatter_add_(self: Any, dim: int, index: Tensor, src: Tensor) -> Any:
        """In place: self[index[i, j], j] += src[i, j] for dim 0, and so on."""
        return mutate(self, index_ops.scatter_add, indexing.scatter_arguments(self, dim, index, src))

    def fill_(self: Any, value: Any) -> Any:
        """In place: every element ``value``."""
        indexing.setitem(self, ..., value)
        return self

    def zero_(self) -> Any:
        """In place: every element 0."""
        return self.fill_(0)

    def copy_(self: Any, src: Tensor, non_blocking: bool = False) -> Any:
        """In place: the elements of another tensor (broadcast, in this one's dtype, from any device)."""
        indexing.setitem(self, ..., src.to(dtype=self.dtype, device=self.device))
        return self

    def fill_diagonal_(self: Any, fill_value: float, wrap: bool = False) -> Any:
        """In place: the main diagonal ``fill_value``; with ``wrap`` it begins again below a tall matrix."""
        n, columns = self.array.ndim, self.array.shape[-1] if self.array.ndim else 0
        if n < 2 or (n > 2 and len(set(self.array.shape)) > 1):
            raise RuntimeError("fill_diagonal_: a matrix, or a tensor whose axes have one length, is needed")
        if wrap and n == 2:
            flat = shaping.reshape(self, -1)
            indexing.setitem(flat, slice(None, None, columns + 1), fill_value)
            return self
        places = list(range(min(self.array.shape)))
        indexing.setitem(self, (places,) * n, fill_value)
        return self

    # Random numbers -----------------------------------------------------------------------------------------

    uniform_, normal_, bernoulli_ = random.uniform_, random.normal_, random.bernoulli_
    exponential_, geometric_, cauchy_ = random.exponential_, random.geometric_, random.cauchy_
    log_normal_, random_ = random.log_normal_, random.random_

    # Shapes -------------------------------------------------------------------------------------------------

    unsqueeze_, squeeze_, t_ = by_view(shaping.unsqueeze), by_view(shaping.squeeze), by_view(shaping.t)
    transpose_ = by_view(shaping.transpose)
    swapaxes_ = swapdims_ = transpose_

    def resize_(self, *size: Any, memory_format: Any = None) -> Any:
        """In place: another shape; elements that fit stay, new ones are unset.

        Raises:
            RuntimeError: the tensor requires a gradient.
        """
        if self._wanted():
            raise RuntimeError("cannot resize variables that require grad")
        shape, array = sizes(size), self.array
        made = xp(array).empty(shape, array.dtype)
        count = min(made.size, array.size)
        made.reshape(-1)[:count] = array.reshape(-1)[:count]
        self.array, self._base, self._version = made, None, [0, None]
        return self

    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Any:
        """In place: the shape of another tensor."""
        return self.resize_(other.array.shape)

    def set_(self, source: Tensor) -> Any:
        """In place: show the memory of another tensor from now on."""
        self.array, self._base, self._version = source.array, None, source._version
        return self
