"""The methods of Tensor, written by `python tasks.py index` from the names in names.py."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from minigrad.autograd.views import Viewing
from minigrad.backend.random import Generator
from minigrad.backend.size import Size
from minigrad.backend.storage import TypedStorage, UntypedStorage
from minigrad.compat.functions import return_types
from minigrad.functions.arguments import Axis, Dims, Maybe, Operand, Scalar

Tensor = TypeVar("Tensor")

class Methods(Viewing, Generic[Tensor]):
    """The methods of a Tensor that functions and operators define."""

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix. Raises RuntimeError unless the tensor has 0 or 2 axes."""

    @property
    def T(self) -> Tensor:
        """The tensor with axes in reverse order."""

    def abs(self) -> Tensor:
        """|x|; the gradient at 0 is 0, elementwise."""

    def abs_(self) -> Tensor:
        """In place: |x|; the gradient at 0 is 0, elementwise."""

    def absolute(self) -> Tensor:
        """|x|; the gradient at 0 is 0, elementwise."""

    def absolute_(self) -> Tensor:
        """In place: |x|; the gradient at 0 is 0, elementwise."""

    def acos(self) -> Tensor:
        """arccos x, elementwise."""

    def acos_(self) -> Tensor:
        """In place: arccos x, elementwise."""

    def acosh(self) -> Tensor:
        """arcosh x, elementwise."""

    def acosh_(self) -> Tensor:
        """In place: arcosh x, elementwise."""

    def add(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """input + alpha · other, elementwise; the operands broadcast."""

    def add_(self, other: Any, *, alpha: builtins.float = 1) -> Tensor:
        """In place: input + alpha · other."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """beta · input + alpha · Σ batch1 batch2, summed over the batch."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """In place: beta · input + alpha · Σ batch1 batch2, summed over the batch."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """input + value · tensor1 / tensor2."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """In place: input + value · tensor1 / tensor2."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """input + value · tensor1 · tensor2."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """In place: input + value · tensor1 · tensor2."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """beta · input + alpha · mat1 mat2."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """In place: beta · input + alpha · mat1 mat2."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """beta · input + alpha · mat vec."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """In place: beta · input + alpha · mat vec."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """beta · input + alpha · vec1 vec2ᵀ; for bools, + is "or"."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """In place: beta · input + alpha · vec1 vec2ᵀ; for bools, + is "or"."""

    def adjoint(self) -> Tensor:
        """``mH`` as a method."""

    def all(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether no element over ``dim`` is 0, as bool (uint8 for uint8)."""

    def allclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Whether all elements are equal or within atol + rtol · |other| of each other."""

    def amax(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """The largest element over ``dim``. Unlike in ``max``, ties share the gradient. For a NaN result, it is NaN."""

    def amin(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """The smallest element over ``dim``. Unlike in ``min``, ties share the gradient. For a NaN result, it is
        NaN."""

    def aminmax(
        self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False
    ) -> return_types.aminmax[Tensor]:
        """Return (min, max), the smallest and largest elements over ``dim``."""

    def angle(self) -> Tensor:
        """The angle to the real axis, in (-π, π]. It is 0 or π for real numbers."""

    def any(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """Whether any element over ``dim`` is not 0, as bool (uint8 for uint8)."""

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """In place: apply a Python function to each element. This is slow, and runs on the CPU."""

    def arccos(self) -> Tensor:
        """arccos x, elementwise."""

    def arccos_(self) -> Tensor:
        """In place: arccos x, elementwise."""

    def arccosh(self) -> Tensor:
        """arcosh x, elementwise."""

    def arccosh_(self) -> Tensor:
        """In place: arcosh x, elementwise."""

    def arcsin(self) -> Tensor:
        """arcsin x, elementwise."""

    def arcsin_(self) -> Tensor:
        """In place: arcsin x, elementwise."""

    def arcsinh(self) -> Tensor:
        """arsinh x, elementwise."""

    def arcsinh_(self) -> Tensor:
        """In place: arsinh x, elementwise."""

    def arctan(self) -> Tensor:
        """arctan x, elementwise."""

    def arctan2(self, other: Tensor | Scalar) -> Tensor:
        """The angle of the point (b, a), elementwise; the operands broadcast."""

    def arctan2_(self, other: Tensor | Scalar) -> Tensor:
        """In place: The angle of the point (b, a), elementwise; the operands broadcast."""

    def arctan_(self) -> Tensor:
        """In place: arctan x, elementwise."""

    def arctanh(self) -> Tensor:
        """artanh x, elementwise."""

    def arctanh_(self) -> Tensor:
        """In place: artanh x, elementwise."""

    def argmax(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """The index (int64) of the largest element along ``dim``, or in the flattened tensor if None."""

    def argmin(self, dim: Dims = None, keepdim: builtins.bool = False) -> Tensor:
        """The index (int64) of the smallest element along ``dim``, or in the flattened tensor if None."""

    def argsort(
        self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True
    ) -> Tensor:
        """The indices (int64) that sort the tensor along ``dim``."""

    def argwhere(self) -> Tensor:
        """The indices of the nonzero elements, as an (N, ndim) tensor."""

    def as_strided(
        self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None
    ) -> Tensor:
        """Elements of the tensor's whole memory, selected by sizes and strides (in elements). The result is a view
        if the tensor is on the CPU and covers its memory in order, else a copy. Gradients flow only to elements of
        the tensor, and not at all after an in-place change. ``storage_offset`` is the index of the first element (by
        default, the tensor's). Raises RuntimeError if elements would be outside the memory, or elements of the
        tensor share memory."""

    def as_strided_(
        self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None
    ) -> Tensor:
        """In place: Elements of the tensor's whole memory, selected by sizes and strides (in elements). The result
        is a view if the tensor is on the CPU and covers its memory in order, else a copy. Gradients flow only to
        elements of the tensor, and not at all after an in-place change. ``storage_offset`` is the index of the first
        element (by default, the tensor's). Raises RuntimeError if elements would be outside the memory, or elements
        of the tensor share memory."""

    def as_strided_scatter(
        self,
        src: Tensor,
        size: Sequence[builtins.int],
        stride: Sequence[builtins.int],
        storage_offset: builtins.int | None = None,
    ) -> Tensor:
        """A copy in which ``src`` replaces the elements selected by ``as_strided``. Raises RuntimeError if the input
        is not contiguous or is part of larger memory, ``src`` does not have shape ``size``, or two elements would
        share memory."""

    def asin(self) -> Tensor:
        """arcsin x, elementwise."""

    def asin_(self) -> Tensor:
        """In place: arcsin x, elementwise."""

    def asinh(self) -> Tensor:
        """arsinh x, elementwise."""

    def asinh_(self) -> Tensor:
        """In place: arsinh x, elementwise."""

    def atan(self) -> Tensor:
        """arctan x, elementwise."""

    def atan2(self, other: Tensor | Scalar) -> Tensor:
        """The angle of the point (b, a), elementwise; the operands broadcast."""

    def atan2_(self, other: Tensor | Scalar) -> Tensor:
        """In place: The angle of the point (b, a), elementwise; the operands broadcast."""

    def atan_(self) -> Tensor:
        """In place: arctan x, elementwise."""

    def atanh(self) -> Tensor:
        """artanh x, elementwise."""

    def atanh_(self) -> Tensor:
        """In place: artanh x, elementwise."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1) -> Tensor:
        """beta · input + alpha · batch1 batch2, for each matrix in the batch."""

    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: builtins.float = 1, alpha: builtins.float = 1
    ) -> Tensor:
        """In place: beta · input + alpha · batch1 batch2, for each matrix in the batch."""

    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
        """For each element, 1 with the probability that it contains (or with probability ``p``), else 0."""

    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
        """In place: set each element to 1 with probability p (a number, or a tensor of numbers), else to 0."""

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """Convert to bfloat16."""

    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """Count how often each of 0, 1, 2, ... occurs in a vector of integers, or sum the ``weights`` of its
        occurrences."""

    def bitwise_and(self, other: Tensor | Scalar) -> Tensor:
        """a & b, bit by bit (logical and of bools), elementwise; the operands broadcast."""

    def bitwise_and_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a & b, bit by bit (logical and of bools), elementwise; the operands broadcast."""

    def bitwise_left_shift(self, other: Tensor | Scalar) -> Tensor:
        """a · 2ᵇ for integers, elementwise; the operands broadcast."""

    def bitwise_left_shift_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a · 2ᵇ for integers, elementwise; the operands broadcast."""

    def bitwise_not(self) -> Tensor:
        """~x, bit by bit (logical not of bools), elementwise."""

    def bitwise_not_(self) -> Tensor:
        """In place: ~x, bit by bit (logical not of bools), elementwise."""

    def bitwise_or(self, other: Tensor | Scalar) -> Tensor:
        """a | b, bit by bit, elementwise; the operands broadcast."""

    def bitwise_or_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a | b, bit by bit, elementwise; the operands broadcast."""

    def bitwise_right_shift(self, other: Tensor | Scalar) -> Tensor:
        """⌊a / 2ᵇ⌋ for integers, elementwise; the operands broadcast."""

    def bitwise_right_shift_(self, other: Tensor | Scalar) -> Tensor:
        """In place: ⌊a / 2ᵇ⌋ for integers, elementwise; the operands broadcast."""

    def bitwise_xor(self, other: Tensor | Scalar) -> Tensor:
        """a ^ b, bit by bit, elementwise; the operands broadcast."""

    def bitwise_xor_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ^ b, bit by bit, elementwise; the operands broadcast."""

    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices, (B, N, M) and (B, M, P). The result has shape (B, N, P)."""

    def bool(self, memory_format: Any = None) -> Tensor:
        """Convert to bool."""

    def broadcast_to(self, size: Any) -> Tensor:
        """Like ``expand``, with the shape as one argument."""

    def byte(self, memory_format: Any = None) -> Tensor:
        """Convert to uint8."""

    def cauchy_(
        self, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """In place: fill with numbers from the Cauchy distribution."""

    def cdouble(self, memory_format: Any = None) -> Tensor:
        """Convert to complex128."""

    def ceil(self) -> Tensor:
        """⌈x⌉, elementwise."""

    def ceil_(self) -> Tensor:
        """In place: ⌈x⌉, elementwise."""

    def cfloat(self, memory_format: Any = None) -> Tensor:
        """Convert to complex64."""

    def char(self, memory_format: Any = None) -> Tensor:
        """Convert to int8."""

    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """Return L such that A = L Lᴴ, or Lᴴ if ``upper``. Raises LinAlgError if a matrix is not positive definite."""

    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """(L Lᴴ)⁻¹ for L from ``linalg.cholesky``, or (Lᴴ L)⁻¹ if ``upper``."""

    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = False) -> Tensor:
        """Solve L Lᴴ X = input, or Lᴴ L X = input if ``upper``, where L is ``input2``, from ``linalg.cholesky``."""

    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` pieces of equal length (the last may be shorter). An empty axis gives ``chunks`` empty
        pieces."""

    def clamp(self, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
        """input clamped to [min, max]. The bounds may be numbers or tensors."""

    def clamp_(self, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
        """In place: input clamped to [min, max]. The bounds may be numbers or tensors."""

    def clamp_max(self, max: Scalar) -> Tensor:
        """input clamped to at most ``max``."""

    def clamp_max_(self, max: Scalar) -> Tensor:
        """In place: input clamped to at most ``max``."""

    def clamp_min(self, min: Scalar) -> Tensor:
        """input clamped to at least ``min``."""

    def clamp_min_(self, min: Scalar) -> Tensor:
        """In place: input clamped to at least ``min``."""

    def clip(self, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
        """input clamped to [min, max]. The bounds may be numbers or tensors."""

    def clip_(self, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
        """In place: input clamped to [min, max]. The bounds may be numbers or tensors."""

    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy through which gradients flow, in the tensor's memory order or in a memory format."""

    def conj(self) -> Tensor:
        """The complex conjugate, a - bi for a + bi. A real tensor is returned unchanged."""

    def conj_physical(self) -> Tensor:
        """The same as ``conj``, which is never lazy."""

    def conj_physical_(self) -> Tensor:
        """In place: The same as ``conj``, which is never lazy."""

    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor itself if its memory is contiguous (or in the order of a memory format), else a contiguous
        copy."""

    def copy_(self, other: Tensor, non_blocking: builtins.bool = False) -> Tensor:
        """In place: copy another tensor's elements from any device, broadcast and converted to this tensor's dtype."""

    def copysign(self, other: Tensor | Scalar) -> Tensor:
        """|a| with the sign of b, where -0.0 counts as negative, elementwise; the operands broadcast."""

    def copysign_(self, other: Tensor | Scalar) -> Tensor:
        """In place: |a| with the sign of b, where -0.0 counts as negative, elementwise; the operands broadcast."""

    def corrcoef(self) -> Tensor:
        """The correlation matrix of the rows, which are variables. The columns are observations."""

    def cos(self) -> Tensor:
        """cos x, elementwise."""

    def cos_(self) -> Tensor:
        """In place: cos x, elementwise."""

    def cosh(self) -> Tensor:
        """cosh x, elementwise."""

    def cosh_(self) -> Tensor:
        """In place: cosh x, elementwise."""

    def count_nonzero(self, dim: Dims = None) -> Tensor:
        """The number (int64) of nonzero elements along ``dim``."""

    def cov(self, *, correction: builtins.int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
        """The covariance matrix of the rows, which are variables. The columns are observations.

        Args:
            fweights: (N,) integers, the number of times each observation occurs.
            aweights: (N,) floats, the weight of each observation.

        Raises RuntimeError for more than two axes, or weights with the wrong shape, dtype or sign.
        """

    def cpu(self, memory_format: Any = None) -> Tensor:
        """Move the tensor to the CPU."""

    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """The cross product along an axis of length 3 (by default the first such axis). Shapes broadcast.

        Raises RuntimeError if the length of the axis is not 3, and IndexError if the axis does not exist.
        """

    def cuda(self, device: Any = None, non_blocking: builtins.bool = False) -> Tensor:
        """Move the tensor to a GPU."""

    def cummax(self, dim: builtins.int) -> return_types.ValuesIndices[Tensor]:
        """Return (values, indices) of the running maxima along ``dim``. For equal values, the last index is
        returned."""

    def cummin(self, dim: builtins.int) -> return_types.ValuesIndices[Tensor]:
        """Return (values, indices) of the running minima along ``dim``. For equal values, the last index is
        returned."""

    def cumprod(self, dim: builtins.int, *, dtype: Any = None) -> Tensor:
        """Cumulative products along ``dim``."""

    def cumprod_(self, dim: builtins.int, *, dtype: Any = None) -> Tensor:
        """In place: Cumulative products along ``dim``."""

    def cumsum(self, dim: builtins.int, *, dtype: Any = None) -> Tensor:
        """Cumulative sums along ``dim``."""

    def cumsum_(self, dim: builtins.int, *, dtype: Any = None) -> Tensor:
        """In place: Cumulative sums along ``dim``."""

    def data_ptr(self) -> builtins.int:
        """The address of the first element."""

    def deg2rad(self) -> Tensor:
        """Convert degrees to radians."""

    def deg2rad_(self) -> Tensor:
        """In place: Convert degrees to radians."""

    def det(self) -> Tensor:
        """The determinant of square matrices."""

    def detach(self) -> Tensor:
        """A tensor with the same memory but no history. In-place changes to it are still tracked."""

    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix."""

    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices whose diagonals are the input's last axis. ``dim1`` and ``dim2`` are the axes of the matrices."""

    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """A matrix with these diagonal elements."""

    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """The elements with indices (i, i + offset) along two axes, as a new last axis."""

    def diagonal_scatter(
        self, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1
    ) -> Tensor:
        """A copy with its diagonal set to ``src``."""

    def diff(
        self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor:
        """Differences between adjacent elements along ``dim``, taken ``n`` times. If n is 0, returns a copy of
        ``input``."""

    def digamma(self) -> Tensor:
        """The derivative of ln Γ(x), elementwise."""

    def digamma_(self) -> Tensor:
        """In place: The derivative of ln Γ(x), elementwise."""

    def dim(self) -> builtins.int:
        """The number of axes."""

    def dist(self, other: Tensor, p: builtins.float = 2) -> Tensor:
        """The p-norm of the difference between two tensors."""

    def div(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """input / other, elementwise. A ``rounding_mode`` of "floor" or "trunc" rounds the quotient."""

    def div_(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """In place: input / other, elementwise. A ``rounding_mode`` of "floor" or "trunc" rounds the quotient."""

    def divide(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """input / other, elementwise. A ``rounding_mode`` of "floor" or "trunc" rounds the quotient."""

    def divide_(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """In place: input / other, elementwise. A ``rounding_mode`` of "floor" or "trunc" rounds the quotient."""

    def dot(self, tensor: Tensor) -> Tensor:
        """The dot product Σ aᵢ bᵢ of two vectors."""

    def double(self, memory_format: Any = None) -> Tensor:
        """Convert to float64."""

    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 2."""

    def element_size(self) -> builtins.int:
        """The size of an element in bytes."""

    def eq(self, other: Tensor | Scalar) -> Tensor:
        """a = b, elementwise; the operands broadcast."""

    def eq_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a = b, elementwise; the operands broadcast."""

    def equal(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape and elements."""

    def erf(self) -> Tensor:
        """2/√π ∫₀ˣ exp(-t²) dt, elementwise."""

    def erf_(self) -> Tensor:
        """In place: 2/√π ∫₀ˣ exp(-t²) dt, elementwise."""

    def erfc(self) -> Tensor:
        """1 - erf x, precise even where the result is tiny, elementwise."""

    def erfc_(self) -> Tensor:
        """In place: 1 - erf x, precise even where the result is tiny, elementwise."""

    def erfinv(self) -> Tensor:
        """The inverse of erf, elementwise."""

    def erfinv_(self) -> Tensor:
        """In place: The inverse of erf, elementwise."""

    def exp(self) -> Tensor:
        """eˣ, elementwise."""

    def exp2(self) -> Tensor:
        """2ˣ, elementwise."""

    def exp2_(self) -> Tensor:
        """In place: 2ˣ, elementwise."""

    def exp_(self) -> Tensor:
        """In place: eˣ, elementwise."""

    def expand(self, *shape: Any, size: Any = None, implicit: builtins.bool = False) -> Tensor:
        """The tensor with axes of length 1 repeated without copying. A length of -1 keeps the axis unchanged."""

    def expand_as(self, other: Tensor) -> Tensor:
        """Expand to another tensor's shape."""

    def expm1(self) -> Tensor:
        """eˣ - 1, accurate near 0, elementwise."""

    def expm1_(self) -> Tensor:
        """In place: eˣ - 1, accurate near 0, elementwise."""

    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In place: fill with numbers from the exponential distribution with rate ``lambd``."""

    def fill_(self, value: Any) -> Tensor:
        """In place: set every element to ``value``, a number or a 0-d tensor."""

    def fill_diagonal_(self, fill_value: builtins.float, wrap: builtins.bool = False) -> Tensor:
        """In place: fill the main diagonal with ``fill_value``. In tall matrices, ``wrap`` repeats the diagonal."""

    def fix(self) -> Tensor:
        """x without its fractional part, elementwise."""

    def fix_(self) -> Tensor:
        """In place: x without its fractional part, elementwise."""

    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """The tensor with the axes from ``start_dim`` to ``end_dim`` merged into one."""

    def flip(self, *places: Any, dims: Any = None) -> Tensor:
        """The tensor reversed along ``dims`` (separate numbers or one sequence). Raises RuntimeError if an axis
        repeats."""

    def fliplr(self) -> Tensor:
        """The tensor reversed along axis 1."""

    def flipud(self) -> Tensor:
        """The tensor reversed along axis 0."""

    def float(self, memory_format: Any = None) -> Tensor:
        """Convert to float32."""

    def float_power(self, exponent: Any) -> Tensor:
        """input to the power of ``exponent``, in float64, or in complex128 if either is complex."""

    def float_power_(self, exponent: Any) -> Tensor:
        """In place: input to the power of ``exponent``, in float64, or in complex128 if either is complex."""

    def floor(self) -> Tensor:
        """⌊x⌋, elementwise."""

    def floor_(self) -> Tensor:
        """In place: ⌊x⌋, elementwise."""

    def floor_divide(self, other: Tensor | Scalar) -> Tensor:
        """⌊a / b⌋, constant almost everywhere, elementwise; the operands broadcast."""

    def floor_divide_(self, other: Tensor | Scalar) -> Tensor:
        """In place: ⌊a / b⌋, constant almost everywhere, elementwise; the operands broadcast."""

    def fmax(self, other: Tensor) -> Tensor:
        """The maximum, ignoring NaN."""

    def fmin(self, other: Tensor) -> Tensor:
        """The minimum, ignoring NaN."""

    def fmod(self, other: Tensor | Scalar) -> Tensor:
        """a - trunc(a / b) b, with the sign of a, elementwise; the operands broadcast."""

    def fmod_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a - trunc(a / b) b, with the sign of a, elementwise; the operands broadcast."""

    def frac(self) -> Tensor:
        """The fractional part, input - trunc(input)."""

    def frac_(self) -> Tensor:
        """In place: The fractional part, input - trunc(input)."""

    def frexp(self) -> return_types.frexp[Tensor]:
        """(mantissa, exponent), where input = mantissa · 2^exponent and 1/2 <= |mantissa| < 1. The exponent is
        int32."""

    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
        """out[i, j] = input[index[i, j], j] if dim is 0, and likewise for other axes."""

    def gcd(self, other: Tensor | Scalar) -> Tensor:
        """The greatest common divisor of integers, elementwise; the operands broadcast."""

    def gcd_(self, other: Tensor | Scalar) -> Tensor:
        """In place: The greatest common divisor of integers, elementwise; the operands broadcast."""

    def ge(self, other: Tensor | Scalar) -> Tensor:
        """a ≥ b, elementwise; the operands broadcast."""

    def ge_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≥ b, elementwise; the operands broadcast."""

    def geometric_(self, p: builtins.float, *, generator: Generator | None = None) -> Tensor:
        """In place: fill with numbers of trials up to the first success, which has probability p in each trial."""

    def geqrf(self) -> return_types.geqrf[Tensor]:
        """Return (a, tau) without a gradient. a contains R and, below it, reflectors for
        ``linalg.householder_product``."""

    def ger(self, vec2: Tensor) -> Tensor:
        """The outer product aᵢ bⱼ of two vectors."""

    def get_device(self) -> builtins.int:
        """The index of the tensor's GPU, or -1 on the CPU."""

    def getitem(self, key: Any) -> Tensor:
        """Return input[key], which is a view for ints, slices, None and ..., or a copy for index tensors and masks."""

    def greater(self, other: Tensor | Scalar) -> Tensor:
        """a > b, elementwise; the operands broadcast."""

    def greater_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a > b, elementwise; the operands broadcast."""

    def greater_equal(self, other: Tensor | Scalar) -> Tensor:
        """a ≥ b, elementwise; the operands broadcast."""

    def greater_equal_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≥ b, elementwise; the operands broadcast."""

    def gt(self, other: Tensor | Scalar) -> Tensor:
        """a > b, elementwise; the operands broadcast."""

    def gt_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a > b, elementwise; the operands broadcast."""

    def half(self, memory_format: Any = None) -> Tensor:
        """Convert to float16."""

    def heaviside(self, values: Tensor) -> Tensor:
        """0 where input < 0, 1 where input > 0, and ``values`` where input is 0. NaN becomes 0, as in PyTorch."""

    def heaviside_(self, values: Tensor) -> Tensor:
        """In place: 0 where input < 0, 1 where input > 0, and ``values`` where input is 0. NaN becomes 0, as in
        PyTorch."""

    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """The number of elements in each of ``bins`` equally wide bins from ``min`` to ``max``, in the tensor's
        dtype. If both bounds are 0, the bins range from the smallest to the largest element."""

    def histogram(
        self, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: builtins.bool = False
    ) -> return_types.histogram[Tensor]:
        """Return (the number of elements in each bin, the bin edges). ``bins`` is a tensor of edges, or the number
        of equally wide bins from ``range[0]`` to ``range[1]``. By default, ``range`` contains the tensor's extremes."""

    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 1, or axis 0 for vectors."""

    def hypot(self, other: Tensor | Scalar) -> Tensor:
        """√(a² + b²), without overflow, elementwise; the operands broadcast."""

    def hypot_(self, other: Tensor | Scalar) -> Tensor:
        """In place: √(a² + b²), without overflow, elementwise; the operands broadcast."""

    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0, elementwise."""

    def i0_(self) -> Tensor:
        """In place: The modified Bessel function of the first kind of order 0, elementwise."""

    def igamma(self, other: Tensor | Scalar) -> Tensor:
        """∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), elementwise; the operands broadcast."""

    def igamma_(self, other: Tensor | Scalar) -> Tensor:
        """In place: ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), elementwise; the operands broadcast."""

    def igammac(self, other: Tensor | Scalar) -> Tensor:
        """∫ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) from x to ∞, elementwise; the operands broadcast."""

    def igammac_(self, other: Tensor | Scalar) -> Tensor:
        """In place: ∫ tᵃ⁻¹ e⁻ᵗ dt / Γ(a) from x to ∞, elementwise; the operands broadcast."""

    @property
    def imag(self) -> Tensor:
        """A view of the imaginary part, which supports assignment. Raises RuntimeError for a real tensor."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """The tensor with slice i of ``source`` added to slice index[i] along ``dim``."""

    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """In place: The tensor with slice i of ``source`` added to slice index[i] along ``dim``."""

    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """The tensor with slice index[i] along ``dim`` set to slice i of ``source``."""

    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """In place: The tensor with slice index[i] along ``dim`` set to slice i of ``source``."""

    def index_fill(self, dim: builtins.int, index: Tensor, value: Scalar) -> Tensor:
        """The tensor with every slice index[i] along ``dim`` set to ``value``."""

    def index_fill_(self, dim: builtins.int, index: Tensor, value: Scalar) -> Tensor:
        """In place: The tensor with every slice index[i] along ``dim`` set to ``value``."""

    def index_put(self, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """A copy with out[indices] = values. With ``accumulate``, adds the values, even at repeated indices."""

    def index_put_(self, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """In place: set input[indices] = values. With ``accumulate``, add the values instead, even at repeated
        indices."""

    def index_reduce(
        self, dim: builtins.int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor:
        """Like ``scatter_reduce``, but combines whole slices, and ``reduce`` is "prod", "mean", "amax" or "amin"."""

    def index_reduce_(
        self, dim: builtins.int, index: Tensor, source: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor:
        """In place: Like ``scatter_reduce``, but combines whole slices, and ``reduce`` is "prod", "mean", "amax" or
        "amin"."""

    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """The slices along an axis at the given indices (a vector)."""

    def inner(self, other: Tensor) -> Tensor:
        """Sums of products over the last axis of both tensors."""

    def int(self, memory_format: Any = None) -> Tensor:
        """Convert to int32."""

    def inverse(self) -> Tensor:
        """The inverse of square matrices. Raises LinAlgError if a matrix is singular."""

    def is_complex(self) -> builtins.bool:
        """Whether the dtype is complex."""

    def is_conj(self) -> builtins.bool:
        """Always False, as conjugation is never lazy."""

    def is_contiguous(self, memory_format: Any = None) -> builtins.bool:
        """Whether the elements are stored in index order, or in the order of a memory format."""

    @property
    def is_cpu(self) -> builtins.bool:
        """Whether the tensor is on the CPU."""

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether the tensor is on a GPU."""

    def is_floating_point(self) -> builtins.bool:
        """Whether the dtype is a floating-point one."""

    def is_inference(self) -> builtins.bool:
        """Always False, as inference mode creates ordinary tensors."""

    @property
    def is_leaf(self) -> builtins.bool:
        """Whether the tensor is not the result of a recorded op."""

    @property
    def is_meta(self) -> builtins.bool:
        """Whether it is on ``meta`` and has no data."""

    def is_nonzero(self) -> builtins.bool:
        """Whether the tensor's only element is not 0."""

    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Always False, as memory is never page-locked or shared with other processes, which receive copies."""

    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether two tensors have the same shape."""

    def is_shared(self, device: Any = None) -> builtins.bool:
        """Always False, as memory is never page-locked or shared with other processes, which receive copies."""

    def is_signed(self) -> builtins.bool:
        """Whether the dtype is signed."""

    def isclose(
        self,
        other: Tensor,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """A bool tensor that is True where the elements are equal or within atol + rtol · |other| of each other."""

    def isfinite(self) -> Tensor:
        """x is finite: not NaN and not infinite, elementwise."""

    def isinf(self) -> Tensor:
        """x is infinite, elementwise."""

    def isnan(self) -> Tensor:
        """x is NaN, elementwise."""

    def isneginf(self) -> Tensor:
        """Whether each element is -inf."""

    def isposinf(self) -> Tensor:
        """Whether each element is +inf."""

    def isreal(self) -> Tensor:
        """Whether each element is real, that is, has imaginary part 0."""

    def istft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Tensor | None = None,
        center: builtins.bool = True,
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        length: builtins.int | None = None,
        return_complex: builtins.bool = False,
    ) -> Tensor:
        """The signal whose ``stft`` with the same arguments is closest to the complex input (Griffin and Lim 1984):
        (frequencies, frames) -> (L,), or (B, frequencies, frames) -> (B, L).

        Args:
            onesided: whether the spectra have n_fft // 2 + 1 frequencies; inferred by default.
            length: the length to which to cut or zero-pad the signal.
            return_complex: whether the signal is complex.

        Raises RuntimeError if lengths do not match, or all windows are 0 at some position of the signal.
        """

    @property
    def itemsize(self) -> builtins.int:
        """The size of an element in bytes."""

    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product. It consists of blocks, each of which is an element of the input times the other
        tensor."""

    def kthvalue(
        self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False
    ) -> return_types.ValuesIndices[Tensor]:
        """Return (values, indices) of the k-th smallest elements along ``dim``."""

    def lcm(self, other: Tensor | Scalar) -> Tensor:
        """The least common multiple of integers, elementwise; the operands broadcast."""

    def lcm_(self, other: Tensor | Scalar) -> Tensor:
        """In place: The least common multiple of integers, elementwise; the operands broadcast."""

    def ldexp(self, other: Tensor) -> Tensor:
        """input · 2ᵒᵗʰᵉʳ."""

    def ldexp_(self, other: Tensor) -> Tensor:
        """In place: input · 2ᵒᵗʰᵉʳ."""

    def le(self, other: Tensor | Scalar) -> Tensor:
        """a ≤ b, elementwise; the operands broadcast."""

    def le_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≤ b, elementwise; the operands broadcast."""

    def lerp(self, end: Tensor, weight: Tensor | Scalar) -> Tensor:
        """input + weight · (end - input)."""

    def lerp_(self, end: Tensor, weight: Tensor | Scalar) -> Tensor:
        """In place: input + weight · (end - input)."""

    def less(self, other: Tensor | Scalar) -> Tensor:
        """a < b, elementwise; the operands broadcast."""

    def less_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a < b, elementwise; the operands broadcast."""

    def less_equal(self, other: Tensor | Scalar) -> Tensor:
        """a ≤ b, elementwise; the operands broadcast."""

    def less_equal_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≤ b, elementwise; the operands broadcast."""

    def lgamma(self) -> Tensor:
        """ln |Γ(x)|, elementwise."""

    def lgamma_(self) -> Tensor:
        """In place: ln |Γ(x)|, elementwise."""

    def log(self) -> Tensor:
        """ln x, elementwise."""

    def log10(self) -> Tensor:
        """log₁₀ x, elementwise."""

    def log10_(self) -> Tensor:
        """In place: log₁₀ x, elementwise."""

    def log1p(self) -> Tensor:
        """ln(1 + x), accurate near 0, elementwise."""

    def log1p_(self) -> Tensor:
        """In place: ln(1 + x), accurate near 0, elementwise."""

    def log2(self) -> Tensor:
        """log₂ x, elementwise."""

    def log2_(self) -> Tensor:
        """In place: log₂ x, elementwise."""

    def log_(self) -> Tensor:
        """In place: ln x, elementwise."""

    def log_normal_(
        self, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Generator | None = None
    ) -> Tensor:
        """In place: fill with numbers whose logarithms are normal with this mean and standard deviation."""

    def log_softmax(self, dim: builtins.int, dtype: Any = None) -> Tensor:
        """The logarithm of softmax along ``dim``, computed without loss of precision."""

    def logaddexp(self, other: Tensor | Scalar) -> Tensor:
        """ln(eᵃ + eᵇ), without overflow, elementwise; the operands broadcast."""

    def logaddexp2(self, other: Tensor) -> Tensor:
        """log₂(2ᵃ + 2ᵇ)."""

    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """The logarithm of the running sums of eˣ along ``dim``."""

    def logdet(self) -> Tensor:
        """The logarithm of the determinant (the principal value if complex), or NaN where the determinant is
        negative."""

    def logical_and(self, other: Tensor | Scalar) -> Tensor:
        """Both are nonzero, elementwise; the operands broadcast."""

    def logical_and_(self, other: Tensor | Scalar) -> Tensor:
        """In place: Both are nonzero, elementwise; the operands broadcast."""

    def logical_not(self) -> Tensor:
        """x is 0, elementwise."""

    def logical_not_(self) -> Tensor:
        """In place: x is 0, elementwise."""

    def logical_or(self, other: Tensor | Scalar) -> Tensor:
        """At least one is nonzero, elementwise; the operands broadcast."""

    def logical_or_(self, other: Tensor | Scalar) -> Tensor:
        """In place: At least one is nonzero, elementwise; the operands broadcast."""

    def logical_xor(self, other: Tensor | Scalar) -> Tensor:
        """Exactly one is nonzero, elementwise; the operands broadcast."""

    def logical_xor_(self, other: Tensor | Scalar) -> Tensor:
        """In place: Exactly one is nonzero, elementwise; the operands broadcast."""

    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """ln(p / (1 - p)), the inverse of sigmoid. Unless eps is None, p is first clamped to [eps, 1 - eps]."""

    def logit_(self, eps: builtins.float | None = None) -> Tensor:
        """In place: ln(p / (1 - p)), the inverse of sigmoid. Unless eps is None, p is first clamped to [eps, 1 -
        eps]."""

    def logsumexp(self, dim: Dims, keepdim: builtins.bool = False) -> Tensor:
        """ln Σ eˣ over ``dim``."""

    def long(self, memory_format: Any = None) -> Tensor:
        """Convert to int64."""

    def lt(self, other: Tensor | Scalar) -> Tensor:
        """a < b, elementwise; the operands broadcast."""

    def lt_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a < b, elementwise; the operands broadcast."""

    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, ...]:
        """Return (LU, pivots) from ``linalg.lu_factor``, followed by info if ``get_infos``."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """``linalg.lu_solve`` with the right-hand side first."""

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of the last two axes."""

    @property
    def mT(self) -> Tensor:
        """The tensor with its last two axes swapped."""

    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """In place: apply a Python function to each pair of elements. This is slow, and runs on the CPU."""

    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """The tensor with ``value`` (a number or a 0-d tensor) where the bool mask is True."""

    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """In place: The tensor with ``value`` (a number or a 0-d tensor) where the bool mask is True."""

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The tensor with its elements replaced by elements of ``source``, in order, wherever the bool mask is True."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In place: The tensor with its elements replaced by elements of ``source``, in order, wherever the bool
        mask is True."""

    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the broadcast bool mask is True, as a vector."""

    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product, which sums over the last axis of ``input`` and the second-to-last axis of ``other``."""

    def matrix_exp(self) -> Tensor:
        """The matrix exponential Σ xⁿ / n! of square matrices."""

    def matrix_power(self, n: builtins.int) -> Tensor:
        """A square matrix to the power n. If n is negative, return a power of the inverse."""

    @overload
    def max(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The largest element. With ``dim``, returns (values, indices), and the gradient flows only to those
        indices. With another tensor, returns the elementwise maximum."""

    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.max[Tensor]:
        """The largest element. With ``dim``, returns (values, indices), and the gradient flows only to those
        indices. With another tensor, returns the elementwise maximum."""

    @overload
    def max(self, dim: Tensor) -> Tensor:
        """The largest element. With ``dim``, returns (values, indices), and the gradient flows only to those
        indices. With another tensor, returns the elementwise maximum."""

    @overload
    def max(self, *, other: Tensor) -> Tensor:
        """The largest element. With ``dim``, returns (values, indices), and the gradient flows only to those
        indices. With another tensor, returns the elementwise maximum."""

    def maximum(self, other: Tensor | Scalar) -> Tensor:
        """max(a, b); equal operands share the gradient, elementwise; the operands broadcast."""

    def mean(self, dim: Dims = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
        """The mean over ``dim``, or over all elements if None. Only floating-point tensors are supported."""

    @overload
    def median(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The median (the lower of two middle elements), or NaN if any is NaN. With ``dim``, return (values,
        indices)."""

    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.ValuesIndices[Tensor]:
        """The median (the lower of two middle elements), or NaN if any is NaN. With ``dim``, return (values,
        indices)."""

    @overload
    def min(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The smallest element. With ``dim``, returns (values, indices); with another tensor, the elementwise
        minimum."""

    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.min[Tensor]:
        """The smallest element. With ``dim``, returns (values, indices); with another tensor, the elementwise
        minimum."""

    @overload
    def min(self, dim: Tensor) -> Tensor:
        """The smallest element. With ``dim``, returns (values, indices); with another tensor, the elementwise
        minimum."""

    @overload
    def min(self, *, other: Tensor) -> Tensor:
        """The smallest element. With ``dim``, returns (values, indices); with another tensor, the elementwise
        minimum."""

    def minimum(self, other: Tensor | Scalar) -> Tensor:
        """min(a, b); equal operands share the gradient, elementwise; the operands broadcast."""

    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""

    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> return_types.ValuesIndices[Tensor]:
        """The most frequent value along ``dim`` (the smallest if tied). Returns (values, indices of last
        occurrences)."""

    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """The tensor with axes moved to other positions. Raises RuntimeError if axes repeat or their numbers differ."""

    def movedim(self, source: Any, destination: Any) -> Tensor:
        """The tensor with axes moved to other positions. Raises RuntimeError if axes repeat or their numbers differ."""

    def msort(self) -> Tensor:
        """The tensor sorted along the first axis."""

    def mul(self, other: Tensor | Scalar) -> Tensor:
        """a b, elementwise; the operands broadcast."""

    def mul_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a b, elementwise; the operands broadcast."""

    def multinomial(
        self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Draw indices from each row, in proportion to its weights. The result (..., num_samples) is int64. One
        sample per row, or several without replacement, are the largest p / Exp(1), as in PyTorch. Several with
        replacement come from cumulative sums. So does one sample per row on a GPU, where the indices therefore
        differ from those on a CPU. Weights on a GPU are not checked, because a check would require synchronisation.

        Raises RuntimeError if weights are negative, not finite or all 0 (on the CPU), if there are more samples than
        weights, or if there are more than 2²⁴ weights, the limit for cumulative sums in float32.
        """

    def multiply(self, other: Tensor | Scalar) -> Tensor:
        """a b, elementwise; the operands broadcast."""

    def multiply_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a b, elementwise; the operands broadcast."""

    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""

    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``. Raises RuntimeError if p is below 1."""

    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """In place: The logarithm of the multivariate gamma function of dimension ``p``. Raises RuntimeError if p is
        below 1."""

    def nan_to_num(
        self, nan: builtins.float = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None
    ) -> Tensor:
        """Replace NaN with ``nan``, and infinities with ``posinf`` and ``neginf`` (by default, the largest finite
        numbers)."""

    def nan_to_num_(
        self, nan: builtins.float = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None
    ) -> Tensor:
        """In place: Replace NaN with ``nan``, and infinities with ``posinf`` and ``neginf`` (by default, the largest
        finite numbers)."""

    def nanmean(self, dim: Dims = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
        """The mean over ``dim``, ignoring NaN."""

    @overload
    def nanmedian(self, dim: None = None, keepdim: builtins.bool = False) -> Tensor:
        """The ``median``, ignoring NaN."""

    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.ValuesIndices[Tensor]:
        """The ``median``, ignoring NaN."""

    def nanquantile(
        self, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = "linear"
    ) -> Tensor:
        """The ``quantile``, ignoring NaN."""

    def nansum(self, dim: Dims = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
        """The sum over ``dim``, treating NaN as 0."""

    def narrow(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """``length`` elements along an axis, starting at ``start``."""

    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """``narrow``, copied."""

    @property
    def nbytes(self) -> builtins.int:
        """The total size of the elements in bytes."""

    @property
    def ndim(self) -> builtins.int:
        """The number of axes."""

    def ndimension(self) -> builtins.int:
        """The number of axes."""

    def ne(self, other: Tensor | Scalar) -> Tensor:
        """a ≠ b, elementwise; the operands broadcast."""

    def ne_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≠ b, elementwise; the operands broadcast."""

    def neg(self) -> Tensor:
        """-x, elementwise. Raises RuntimeError for a bool tensor."""

    def neg_(self) -> Tensor:
        """In place: -x, elementwise. Raises RuntimeError for a bool tensor."""

    def negative(self) -> Tensor:
        """-x, elementwise. Raises RuntimeError for a bool tensor."""

    def negative_(self) -> Tensor:
        """In place: -x, elementwise. Raises RuntimeError for a bool tensor."""

    def nelement(self) -> builtins.int:
        """The number of elements."""

    def new(self, *data: Any, device: Any = None) -> Tensor:
        """Create a tensor of the same type from sizes or a sequence of values. This is a legacy method of PyTorch."""

    def new_empty(
        self,
        *size: Any,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
        **size_kw: Any,
    ) -> Tensor:
        """Uninitialized elements with this tensor's dtype and device."""

    def new_empty_strided(
        self,
        size: Any,
        stride: Any,
        *,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """An uninitialized tensor with these strides (in elements), by default with this tensor's dtype and device."""

    def new_full(
        self,
        size: Any,
        fill_value: Any,
        *,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """A tensor of shape ``size`` filled with one number, by default with this tensor's dtype and device."""

    def new_ones(
        self,
        *size: Any,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
        **size_kw: Any,
    ) -> Tensor:
        """Ones with this tensor's dtype and device."""

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """A tensor from data, by default with this tensor's dtype and device."""

    def new_zeros(
        self,
        *size: Any,
        dtype: Maybe = None,
        layout: Any = None,
        device: Maybe = None,
        pin_memory: builtins.bool = False,
        requires_grad: builtins.bool = False,
        memory_format: Any = None,
        **size_kw: Any,
    ) -> Tensor:
        """Zeros with this tensor's dtype and device."""

    def nextafter(self, other: Tensor | Scalar) -> Tensor:
        """The next representable number after a, towards b, elementwise; the operands broadcast."""

    def nextafter_(self, other: Tensor | Scalar) -> Tensor:
        """In place: The next representable number after a, towards b, elementwise; the operands broadcast."""

    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of the nonzero elements, as an (N, ndim) tensor, or as a tuple with a vector for each axis."""

    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indices of the nonzero elements, as an (N, ndim) tensor, or as a tuple with a vector for each axis."""

    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """``nonzero`` truncated to ``size`` rows, or padded with ``fill_value``."""

    def norm(
        self, p: builtins.float | str = "fro", dim: Dims = None, keepdim: builtins.bool = False, dtype: Any = None
    ) -> Tensor:
        """The p-norm over ``dim``, (Σ |x|ᵖ)^(1/p). "fro" means 2, inf means max |x|, and "nuc" the sum of singular
        values."""

    def normal_(
        self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """In place: fill with normally distributed random numbers."""

    def not_equal(self, other: Tensor | Scalar) -> Tensor:
        """a ≠ b, elementwise; the operands broadcast."""

    def not_equal_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ≠ b, elementwise; the operands broadcast."""

    def numel(self) -> builtins.int:
        """The number of elements."""

    def orgqr(self, input2: Tensor) -> Tensor:
        """``linalg.householder_product`` under its name in ``torch``."""

    def ormqr(
        self, input2: Tensor, input3: Tensor, left: builtins.bool = True, transpose: builtins.bool = False
    ) -> Tensor:
        """Multiply Q and input3, or input3 and Q if not ``left``. Q is represented by ``input`` and ``input2``, the
        results a and tau of ``geqrf``. If ``transpose``, Qᴴ replaces Q. Raises RuntimeError if shapes do not match."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The outer product aᵢ bⱼ of two vectors."""

    @property
    def output_nr(self) -> builtins.int:
        """The tensor's index among the outputs of its op."""

    def permute(self, *order: Any, dims: Any = None) -> Tensor:
        """The tensor with its axes in the order ``dims``, passed as separate numbers or one sequence."""

    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor itself. See ``is_pinned``."""

    def pinverse(self, rcond: Any = 1e-15) -> Tensor:
        """``linalg.pinv`` under its name in ``torch``."""

    def polygamma(self, n: builtins.int) -> Tensor:
        """The n-th derivative of ``digamma``. The free function takes its arguments in the opposite order."""

    def polygamma_(self, n: builtins.int) -> Tensor:
        """In place: The n-th derivative of ``digamma``. The free function takes its arguments in the opposite order."""

    def positive(self) -> Tensor:
        """The tensor itself."""

    def pow(self, other: Tensor | Scalar) -> Tensor:
        """aᵇ, elementwise; the operands broadcast."""

    def pow_(self, other: Tensor | Scalar) -> Tensor:
        """In place: aᵇ, elementwise; the operands broadcast."""

    def prod(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
        """The product over ``dim``, or over all elements if None."""

    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """The tensor with elements at flat indices set to ``source`` or, with ``accumulate``, increased by
        ``source``."""

    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """In place: The tensor with elements at flat indices set to ``source`` or, with ``accumulate``, increased by
        ``source``."""

    def qr(self, some: builtins.bool = True) -> return_types.qr[Tensor]:
        """Return (Q, R) such that input = Q R. If not ``some``, Q is square."""

    def quantile(
        self, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = "linear"
    ) -> Tensor:
        """The value below which a fraction ``q`` of the elements lies. For a vector ``q``, the result has a leading
        axis."""

    def rad2deg(self) -> Tensor:
        """Convert radians to degrees."""

    def rad2deg_(self) -> Tensor:
        """In place: Convert radians to degrees."""

    def random_(
        self, low: builtins.int = ..., high: builtins.int | None = ..., *, generator: Generator | None = None
    ) -> Tensor:
        """In place: fill with integers in [low, high). PyTorch calls the bounds ``from`` and ``to``. ``random_(n)``
        and ``random_()`` start at 0. Without bounds, the maximum is the dtype's or, for floats, the limit of exact
        integers."""

    def ravel(self) -> Tensor:
        """All elements as a vector."""

    @property
    def real(self) -> Tensor:
        """A view of the real part, or the tensor itself if it is real. Supports assignment: ``x.real = y``."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self) -> Tensor:
        """1 / x, elementwise."""

    def reciprocal_(self) -> Tensor:
        """In place: 1 / x, elementwise."""

    def relu(self) -> Tensor:
        """max(x, 0); the gradient at 0 is 0, elementwise."""

    def relu_(self) -> Tensor:
        """In place: max(x, 0); the gradient at 0 is 0, elementwise."""

    def remainder(self, other: Tensor | Scalar) -> Tensor:
        """a - ⌊a / b⌋ b, with the sign of b, elementwise; the operands broadcast."""

    def remainder_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a - ⌊a / b⌋ b, with the sign of b, elementwise; the operands broadcast."""

    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that its norm is ``maxnorm``."""

    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """In place: Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that its norm is
        ``maxnorm``."""

    def repeat(self, *counts: Any, repeats: Any = None) -> Tensor:
        """Repeat the tensor along each axis, as often as ``repeats`` specifies. Extra numbers add leading axes."""

    def repeat_interleave(
        self, repeats: Any = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None
    ) -> Tensor:
        """Repeat elements along ``dim``, or of the flattened tensor if None. If only counts are passed, repeat the
        indices."""

    def reshape(self, *lengths: Any, shape: Any = None) -> Tensor:
        """The same elements in another shape, without copying if possible. A length of -1 is inferred."""

    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape to another tensor's shape."""

    def resize_(self, *lengths: Any, size: Any = None, memory_format: Any = None) -> Tensor:
        """In place: change the shape. Elements that fit are kept, in memory order; new elements are uninitialized.
        Raises RuntimeError if the tensor requires grad."""

    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Tensor:
        """In place: resize like ``other``."""

    def resolve_conj(self) -> Tensor:
        """The tensor itself, as conjugation is never lazy."""

    def resolve_neg(self) -> Tensor:
        """The tensor itself, as negation is never lazy."""

    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """Elements shifted along ``dims`` with wraparound. Raises RuntimeError if the numbers of shifts and axes
        differ."""

    def rot90(self, k: builtins.int = 1, dims: Sequence[builtins.int] = (0, 1)) -> Tensor:
        """The tensor rotated ``k`` times by 90 degrees, from the first axis in ``dims`` towards the second."""

    def round(self, *, decimals: builtins.int = 0) -> Tensor:
        """Round each element to the nearest integer, or to ``decimals`` decimal places. Ties round to even."""

    def round_(self, *, decimals: builtins.int = 0) -> Tensor:
        """In place: Round each element to the nearest integer, or to ``decimals`` decimal places. Ties round to
        even."""

    def rsqrt(self) -> Tensor:
        """1 / √x, elementwise."""

    def rsqrt_(self) -> Tensor:
        """In place: 1 / √x, elementwise."""

    def scatter(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor | Scalar | None = None,
        *,
        value: Scalar | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """The tensor with out[index[i, j], j] = src[i, j] if dim is 0, and likewise for other axes. src may be a
        number. If ``reduce`` is "add" or "multiply", src is combined with the existing elements."""

    def scatter_(
        self,
        dim: builtins.int,
        index: Tensor,
        src: Tensor | Scalar | None = None,
        *,
        value: Scalar | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """In place: The tensor with out[index[i, j], j] = src[i, j] if dim is 0, and likewise for other axes. src
        may be a number. If ``reduce`` is "add" or "multiply", src is combined with the existing elements."""

    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """out[index[i, j], j] += src[i, j] if dim is 0, and likewise for other axes; duplicates accumulate."""

    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """In place: out[index[i, j], j] += src[i, j] if dim is 0, and likewise for other axes; duplicates
        accumulate."""

    def scatter_reduce(
        self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor:
        """Reduce all elements of ``src`` that share an index, together with the existing element if
        ``include_self``, with "sum", "mean", "prod", "amax" or "amin". For the last two, tied elements share the
        gradient."""

    def scatter_reduce_(
        self, dim: builtins.int, index: Tensor, src: Tensor, reduce: str, *, include_self: builtins.bool = True
    ) -> Tensor:
        """In place: Reduce all elements of ``src`` that share an index, together with the existing element if
        ``include_self``, with "sum", "mean", "prod", "amax" or "amin". For the last two, tied elements share the
        gradient."""

    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """The slice at ``index`` along an axis."""

    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """A copy with the slice at ``index`` along an axis set to ``src``."""

    def set_(
        self, source: Any = None, storage_offset: builtins.int = 0, size: Any = None, stride: Any = None
    ) -> Tensor:
        """In place: use the memory of another tensor or a storage. Without a source, the tensor becomes empty. The
        first element is at ``storage_offset``. ``size`` is the shape (by default, a vector of all remaining
        elements), and ``stride`` contains the strides in elements (by default contiguous). Raises RuntimeError if
        the elements extend past the end of the memory, or the storage has elements of another dtype."""

    def setitem(self, key: Any, value: Any) -> None:
        """Set input[key] = value in place. Gradients flow to the value and to the rest of the tensor."""

    def sgn(self) -> Tensor:
        """The sign, -1, 0 or 1, elementwise. For complex numbers, x / |x|, or 0 if x is 0."""

    def sgn_(self) -> Tensor:
        """In place: The sign, -1, 0 or 1, elementwise. For complex numbers, x / |x|, or 0 if x is 0."""

    def share_memory_(self, device: Any = None) -> Tensor:
        """The tensor itself. See ``is_pinned``."""

    def short(self, memory_format: Any = None) -> Tensor:
        """Convert to int16."""

    def sigmoid(self) -> Tensor:
        """1 / (1 + e⁻ˣ), computed as eˣ far below 0, where e⁻ˣ overflows, elementwise."""

    def sigmoid_(self) -> Tensor:
        """In place: 1 / (1 + e⁻ˣ), computed as eˣ far below 0, where e⁻ˣ overflows, elementwise."""

    def sign(self) -> Tensor:
        """The sign, -1, 0 or 1, elementwise. Raises RuntimeError for a complex tensor."""

    def sign_(self) -> Tensor:
        """In place: The sign, -1, 0 or 1, elementwise. Raises RuntimeError for a complex tensor."""

    def signbit(self) -> Tensor:
        """Whether each element has a minus sign, including -0.0."""

    def sin(self) -> Tensor:
        """sin x, elementwise."""

    def sin_(self) -> Tensor:
        """In place: sin x, elementwise."""

    def sinc(self) -> Tensor:
        """sin(πx) / (πx), 1 at 0, elementwise."""

    def sinc_(self) -> Tensor:
        """In place: sin(πx) / (πx), 1 at 0, elementwise."""

    def sinh(self) -> Tensor:
        """sinh x, elementwise."""

    def sinh_(self) -> Tensor:
        """In place: sinh x, elementwise."""

    @overload
    def size(self, dim: None = None) -> Size:
        """The shape, or the length of one axis."""

    @overload
    def size(self, dim: builtins.int) -> builtins.int:
        """The shape, or the length of one axis."""

    def slice_scatter(
        self,
        src: Tensor,
        dim: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
    ) -> Tensor:
        """A copy with the slice ``start:end:step`` along an axis set to ``src``."""

    def slogdet(self) -> return_types.slogdet[Tensor]:
        """The sign of the determinant, and the logarithm of its absolute value."""

    def softmax(self, dim: builtins.int, dtype: Any = None) -> Tensor:
        """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` (by default the input's dtype)."""

    def sort(
        self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True
    ) -> return_types.sort[Tensor]:
        """The elements sorted along ``dim``, as (values, indices). Equal elements keep their order."""

    def split(
        self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """Split an axis into pieces of equal length (the last may be shorter), or of the listed lengths."""

    def split_with_sizes(
        self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """Split an axis into pieces of equal length (the last may be shorter), or of the listed lengths."""

    def sqrt(self) -> Tensor:
        """√x, elementwise."""

    def sqrt_(self) -> Tensor:
        """In place: √x, elementwise."""

    def square(self) -> Tensor:
        """x²; int64 for bools, elementwise."""

    def square_(self) -> Tensor:
        """In place: x²; int64 for bools, elementwise."""

    def squeeze(self, dim: Any = None, *dims: builtins.int) -> Tensor:
        """Remove all axes of length 1, or only those in ``dim``, passed as separate numbers or one sequence."""

    def squeeze_(self, dim: Any = None, *dims: builtins.int) -> Tensor:
        """In place: Remove all axes of length 1, or only those in ``dim``, passed as separate numbers or one
        sequence."""

    def std(
        self,
        dim: Dims = None,
        unbiased: builtins.bool = True,
        keepdim: builtins.bool = False,
        *,
        correction: Any = None,
    ) -> Tensor:
        """The standard deviation over ``dim``: the square root of ``var``."""

    def stft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Tensor | None = None,
        center: builtins.bool = True,
        pad_mode: str = "reflect",
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        return_complex: builtins.bool | None = None,
        align_to_window: builtins.bool | None = None,
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

    def storage(self) -> TypedStorage:
        """The tensor's memory as elements of its dtype."""

    def storage_offset(self) -> builtins.int:
        """The offset of the first element in the tensor's storage, in elements."""

    @overload
    def stride(self, dim: None = None) -> tuple[builtins.int, ...]:
        """The stride along each axis, in elements. Empty tensors, which have no strides in NumPy, count as
        contiguous."""

    @overload
    def stride(self, dim: builtins.int) -> builtins.int:
        """The stride along each axis, in elements. Empty tensors, which have no strides in NumPy, count as
        contiguous."""

    def sub(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """input - alpha · other, elementwise; the operands broadcast. Raises RuntimeError if either is bool."""

    def sub_(self, other: Any, *, alpha: builtins.float = 1) -> Tensor:
        """In place: input - alpha · other."""

    def subtract(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """input - alpha · other, elementwise; the operands broadcast. Raises RuntimeError if either is bool."""

    def subtract_(self, other: Any, *, alpha: builtins.float = 1) -> Tensor:
        """In place: input - alpha · other."""

    def sum(self, dim: Dims = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
        """The sum over ``dim``, or over all elements if None."""

    def sum_to_size(self, *lengths: Any, size: Any = None) -> Tensor:
        """The tensor summed over the axes along which ``size`` would be broadcast to the tensor's shape."""

    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> return_types.svd[Tensor]:
        """Return (U, S, V) such that input = U diag(S) Vᴴ. Note that ``linalg.svd`` returns Vᴴ instead of V.

        Args:
            some: whether U and V have min(M, N) columns; if not, they are square.
            compute_uv: if False, U and V are square matrices of zeros without a gradient.
        """

    def swapaxes(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """The tensor with two axes swapped."""

    def swapaxes_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """In place: The tensor with two axes swapped."""

    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """The tensor with two axes swapped."""

    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """In place: The tensor with two axes swapped."""

    def t(self) -> Tensor:
        """The transpose of a matrix. Vectors and scalars are returned unchanged."""

    def t_(self) -> Tensor:
        """In place: The transpose of a matrix. Vectors and scalars are returned unchanged."""

    def take(self, index: Tensor) -> Tensor:
        """The elements at these indices of the flattened tensor."""

    def take_along_dim(self, indices: Tensor, dim: Axis = None) -> Tensor:
        """Like ``gather``, but broadcasts the input and indices along the other axes. Without ``dim``, both are
        flattened. Raises RuntimeError if the indices are not integers, the numbers of axes differ, or the shapes do
        not broadcast."""

    def tan(self) -> Tensor:
        """tan x, elementwise."""

    def tan_(self) -> Tensor:
        """In place: tan x, elementwise."""

    def tanh(self) -> Tensor:
        """tanh x, elementwise."""

    def tanh_(self) -> Tensor:
        """In place: tanh x, elementwise."""

    def tensor_split(self, indices_or_sections: Any, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Split an axis into pieces whose lengths differ by at most one, or at the given indices."""

    def tile(self, *repeats: Any, dims: Any = None) -> Tensor:
        """Like ``repeat``, but if there are fewer numbers than axes, ones are prepended."""

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
        memory_format: Any = None,
        tensor: Tensor | None = None,
    ) -> Tensor:
        """Convert to a dtype, a device, or another tensor's dtype and device. Returns the tensor itself if nothing
        changes."""

    def to_dense(self, dtype: Any = None, *, masked_grad: builtins.bool | None = None) -> Tensor:
        """The tensor itself, which is already dense, or the tensor converted to ``dtype``."""

    def topk(
        self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True
    ) -> return_types.topk[Tensor]:
        """The k largest (or smallest) elements along ``dim``, sorted, as (values, indices)."""

    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""

    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """The tensor with two axes swapped."""

    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """In place: The tensor with two axes swapped."""

    def triangular_solve(
        self,
        A: Tensor,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> return_types.triangular_solve[Tensor]:
        """Solve A X = input, or Aᴴ X = input if ``transpose``, for a triangle of A. Returns (X, A)."""

    def tril(self, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle of the last two axes, up to and including diagonal number ``diagonal`` (0 is the main
        one)."""

    def tril_(self, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
        """In place: The lower triangle of the last two axes, up to and including diagonal number ``diagonal`` (0 is
        the main one)."""

    def triu(self, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle of the last two axes, starting with diagonal number ``diagonal``."""

    def triu_(self, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
        """In place: The upper triangle of the last two axes, starting with diagonal number ``diagonal``."""

    def true_divide(self, other: Tensor | Scalar) -> Tensor:
        """a / b, elementwise; the operands broadcast."""

    def true_divide_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a / b, elementwise; the operands broadcast."""

    def trunc(self) -> Tensor:
        """x without its fractional part, elementwise."""

    def trunc_(self) -> Tensor:
        """In place: x without its fractional part, elementwise."""

    @overload
    def type(self, dtype: None = None) -> str:
        """Convert to another dtype or tensor type (``torch.FloatTensor``). Without arguments, return the type's
        name."""

    @overload
    def type(self, dtype: Any, non_blocking: builtins.bool = False) -> Tensor:
        """Convert to another dtype or tensor type (``torch.FloatTensor``). Without arguments, return the type's
        name."""

    def type_as(self, other: Tensor) -> Tensor:
        """Convert to another tensor's dtype and device."""

    def unbind(self, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """A tuple of the slices along an axis."""

    def unflatten(self, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
        """The tensor with one axis split into several."""

    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Copy windows of ``size`` elements along an axis to a new last axis. A window starts every ``step``
        elements."""

    def uniform_(
        self, low: builtins.float = 0.0, high: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Tensor:
        """In place: fill with uniform random numbers in [low, high). PyTorch calls these bounds ``from`` and ``to``."""

    @overload
    def unique(self, sorted: builtins.bool = True, *, dim: Axis = None) -> Tensor:
        """The distinct values in ascending order. Optionally returns each element's index among them, and their
        counts."""

    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: Axis = None,
    ) -> Any:
        """The distinct values in ascending order. Optionally returns each element's index among them, and their
        counts."""

    @overload
    def unique_consecutive(self, *, dim: builtins.int | None = None) -> Tensor:
        """The values without consecutive repeats. Optionally return each element's index among them, and their
        counts."""

    @overload
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Any:
        """The values without consecutive repeats. Optionally return each element's index among them, and their
        counts."""

    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` pieces of equal length (the last may be shorter). An empty axis gives ``chunks`` empty
        pieces."""

    def unsafe_split(
        self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """Split an axis into pieces of equal length (the last may be shorter), or of the listed lengths."""

    def unsafe_split_with_sizes(
        self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """Split an axis into pieces of equal length (the last may be shorter), or of the listed lengths."""

    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """The tensor with a new axis of length 1 at ``dim``."""

    def unsqueeze_(self, dim: builtins.int) -> Tensor:
        """In place: The tensor with a new axis of length 1 at ``dim``."""

    def untyped_storage(self) -> UntypedStorage:
        """The tensor's memory as bytes."""

    def var(
        self,
        dim: Dims = None,
        unbiased: builtins.bool = True,
        keepdim: builtins.bool = False,
        *,
        correction: Any = None,
    ) -> Tensor:
        """The variance over ``dim``, with divisor n - correction (by default n - 1)."""

    def vdot(self, other: Tensor) -> Tensor:
        """Σ conj(aᵢ) bᵢ for two vectors."""

    def view(self, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
        """Like ``reshape``, but never copies. If ``dtype`` is passed, reinterprets the bytes as that dtype; this has
        no gradient. Raises RuntimeError if the memory order does not allow a view; use ``reshape`` in that case."""

    def view_as(self, other: Tensor) -> Tensor:
        """View in another tensor's shape."""

    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """``tensor_split`` along axis 0."""

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """This tensor where the condition is True, and ``other`` elsewhere."""

    def xlogy(self, other: Tensor | Scalar) -> Tensor:
        """a ln b, 0 where a = 0 unless b is NaN, elementwise; the operands broadcast."""

    def xlogy_(self, other: Tensor | Scalar) -> Tensor:
        """In place: a ln b, 0 where a = 0 unless b is NaN, elementwise; the operands broadcast."""

    def zero_(self) -> Tensor:
        """In place: set every element to 0."""

    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | Operand) -> Tensor: ...
    def __and__(self, other: Tensor | Operand) -> Tensor: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __div__(self, other: Tensor | Operand) -> Tensor: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    def __eq__(self, other: Tensor | Operand) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Tensor | Operand) -> Tensor: ...
    def __ge__(self, other: Tensor | Operand) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __gt__(self, other: Tensor | Operand) -> Tensor: ...
    def __iadd__(self, other: Tensor | Operand) -> Tensor: ...
    def __iand__(self, other: Tensor | Operand) -> Tensor: ...
    def __idiv__(self, other: Tensor | Operand) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | Operand) -> Tensor: ...
    def __ilshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __imod__(self, other: Tensor | Operand) -> Tensor: ...
    def __imul__(self, other: Tensor | Operand) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Tensor | Operand) -> Tensor: ...
    def __ipow__(self, other: Tensor | Operand) -> Tensor: ...
    def __irshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __isub__(self, other: Tensor | Operand) -> Tensor: ...
    def __itruediv__(self, other: Tensor | Operand) -> Tensor: ...
    def __ixor__(self, other: Tensor | Operand) -> Tensor: ...
    def __le__(self, other: Tensor | Operand) -> Tensor: ...
    def __lshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __lt__(self, other: Tensor | Operand) -> Tensor: ...
    def __matmul__(self, other: Tensor | Operand) -> Tensor: ...
    def __mod__(self, other: Tensor | Operand) -> Tensor: ...
    def __mul__(self, other: Tensor | Operand) -> Tensor: ...
    def __ne__(self, other: Tensor | Operand) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *data: Any, device: Maybe = "cpu") -> Any: ...
    def __or__(self, other: Tensor | Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | Operand) -> Tensor: ...
    def __radd__(self, other: Tensor | Operand) -> Tensor: ...
    def __rand__(self, other: Tensor | Operand) -> Tensor: ...
    def __rdiv__(self, other: Tensor | Operand) -> Tensor: ...
    def __repr__(self) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | Operand) -> Tensor: ...
    def __rlshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __rmatmul__(self, other: Tensor | Operand) -> Tensor: ...
    def __rmod__(self, other: Tensor | Operand) -> Tensor: ...
    def __rmul__(self, other: Tensor | Operand) -> Tensor: ...
    def __ror__(self, other: Tensor | Operand) -> Tensor: ...
    def __rpow__(self, other: Tensor | Operand) -> Tensor: ...
    def __rrshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __rshift__(self, other: Tensor | Operand) -> Tensor: ...
    def __rsub__(self, other: Tensor | Operand) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | Operand) -> Tensor: ...
    def __rxor__(self, other: Tensor | Operand) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __sub__(self, other: Tensor | Operand) -> Tensor: ...
    def __truediv__(self, other: Tensor | Operand) -> Tensor: ...
    def __xor__(self, other: Tensor | Operand) -> Tensor: ...
