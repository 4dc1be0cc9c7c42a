"""Products of vectors and matrices, by PyTorch's names."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.calls import apply
from ..autograd.graph import as_one
from ..autograd.tape import Variable
from ..backend.deferred import Deferred
from ..backend.dtype import kind_of
from ..ops import linear as ops
from ..tensor import Tensor
from .arguments import axis, rounded_once, scaled
from .creation import arange, eye, zeros_like
from .define import function, method
from .pointwise import level, where
from .shaping import stack
from .spelling import factors_first

if TYPE_CHECKING:
    from ..ops import decompositions
else:
    decompositions = Deferred("minigrad.ops.decompositions")

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # of einsum, in order


@method
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product over the last axis of one and the last but one of the other; leading axes broadcast.

    >>> mg.tensor([[1, 2], [3, 4]]) @ mg.tensor([1, 1])
    tensor([3, 7])
    >>> (mg.zeros(5, 2, 3) @ mg.zeros(3, 4)).shape
    minigrad.Size([5, 2, 4])
    """
    check_floats_agree(input, other, "matmul")
    return apply(ops.matmul, (input, other))


def check_floats_agree(a: Tensor, b: Tensor, name: str) -> None:
    """Products do not promote: a float32 and a float64 operand are a mistake more often than a wish."""
    if a.array.dtype is not b.array.dtype and a.array.dtype != b.array.dtype:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got: {a.dtype} and {b.dtype}. "
            f"Convert one with .to(dtype)"
        )


@method
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices.

    >>> mg.mm(mg.tensor([[1, 2]]), mg.tensor([[3], [4]]))
    tensor([[11]])
    """
    _check_axes(input, 2, "mm")
    _check_axes(mat2, 2, "mm")
    return matmul(input, mat2)


@method
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two stacks of matrices, (B, N, M) and (B, M, P) -> (B, N, P).

    >>> mg.bmm(mg.ones(2, 1, 3), mg.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    _check_axes(input, 3, "bmm")
    _check_axes(mat2, 3, "bmm")
    if input.array.shape[0] != mat2.array.shape[0]:
        raise RuntimeError(f"bmm: batch sizes {input.array.shape[0]} and {mat2.array.shape[0]} differ")
    return as_one(matmul(input, mat2), "BmmBackward0")


@method
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector.

    >>> mg.mv(mg.tensor([[1, 2], [3, 4]]), mg.tensor([1, 1]))
    tensor([3, 7])
    """
    return matmul(input, vec)


@method
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Σ aᵢ bᵢ of two vectors.

    >>> mg.dot(mg.tensor([1, 2]), mg.tensor([3, 4]))
    tensor(11)
    """
    _check_axes(input, 1, "dot")
    return matmul(input, tensor)


def _check_axes(x: Tensor, n: int, name: str) -> None:
    if x.array.ndim != n:
        raise RuntimeError(f"{name}: expected a tensor of {n} dimensions, but got shape {tuple(x.array.shape)}")


@method
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """aᵢ bⱼ of two vectors.

    >>> mg.outer(mg.tensor([1, 2]), mg.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    _check_axes(input, 1, "outer")
    _check_axes(vec2, 1, "outer")
    return apply(ops.outer, (input, vec2))


ger = outer


@method(in_place=True)
@factors_first
@rounded_once(of_products=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat1 mat2."""
    return _base(input, beta) + scaled(mm(mat1, mat2), alpha)


@method(in_place=True)
@factors_first
@rounded_once(of_products=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · batch1 batch2, batch by batch."""
    return _base(input, beta) + scaled(bmm(batch1, batch2), alpha)


@function
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein's sum: "bhid,bhjd->bhij". Letters that the result leaves out are summed over.

    Args:
        equation: letters for the axes of each operand, an ellipsis for those that broadcast, "->" and the
            result's letters (by default those that stand once, in alphabetical order).
        operands: the tensors, separate or in one list; contracted from left to right. In place of an equation, each
            tensor may be followed by the numbers of its axes; the result's come last: ``einsum(a, [0, 1], [1, 0])``.

    Raises:
        RuntimeError: the equation does not fit the operands.

    >>> q, k = mg.ones(2, 4, 8), mg.ones(2, 5, 8)
    >>> mg.einsum("btd,bsd->bts", q, k).shape
    minigrad.Size([2, 4, 5])
    """
    if isinstance(equation, Variable):
        equation, operands = _from_numbers((equation, *operands))
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    terms, result = _parse(equation, tensors)
    _broadcast(equation, terms, tensors)
    for n, term in enumerate(terms):
        tensors[n], terms[n] = _without_repeats(tensors[n], term)
    left, letters = tensors[0], terms[0]
    for n in range(1, len(tensors)):
        later = "".join(terms[n + 1 :]) + result
        kept = "".join(dict.fromkeys(c for c in letters + terms[n] if c in later))
        left = apply(ops.einsum_pair, (left, tensors[n], (letters, terms[n], kept)))
        letters = kept
    return _arranged(left, letters, result)


def _parse(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes capital letters from the right."""
    text = equation.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors):
        raise RuntimeError(f"einsum(): {equation!r} names {len(terms)} operands, but {len(tensors)} were given")
    spare = [c for c in _LETTERS[25::-1] if c not in text]
    most = 0
    for n, term in enumerate(terms):
        if "." in term.replace("...", "", 1):
            raise RuntimeError(f"einsum(): the subscripts {term!r} have more than one ellipsis")
        hidden = tensors[n].array.ndim - len(term.replace("...", ""))
        if hidden < 0 or (hidden and "..." not in term):
            raise RuntimeError(
                f"einsum(): the subscripts {term!r} do not match operand {n} of {tensors[n].array.ndim} dimensions"
            )
        terms[n] = term.replace("...", "".join(reversed(spare[:hidden])))
        most = max(most, hidden if "..." in term else 0)
    ellipsis = "".join(reversed(spare[:most]))
    if not arrow:
        joined = inputs.replace(",", "").replace(".", "")
        result = ellipsis + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    result = result.replace("...", ellipsis)
    unknown = set(result) - set("".join(terms))
    if unknown or len(set(result)) < len(result):
        raise RuntimeError(f"einsum(): the result of {equation!r} repeats a subscript or names one no operand has")
    return terms, result


def _broadcast(equation: str, terms: list[str], tensors: list[Tensor]) -> None:
    """Give every letter one length: axes of length 1 are repeated to that of the other operands."""
    pairs = [(c, n) for term, x in zip(terms, tensors, strict=True) for c, n in zip(term, x.array.shape, strict=True)]
    lengths: dict[str, int] = {}
    for letter, n in pairs:
        known = lengths.setdefault(letter, n)
        if 1 not in (known, n) and known != n:
            raise RuntimeError(f"einsum(): in {equation!r} the subscript {letter!r} has length {known} and {n}")
        lengths[letter] = n if known == 1 else known
    for i, (term, tensor) in enumerate(zip(terms, tensors, strict=True)):
        shape = tuple(lengths[c] for c in term)
        tensors[i] = tensor if tensor.array.shape == shape else tensor.expand(shape)


def _from_numbers(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Tensors, each followed by the numbers of its axes, as an equation and tensors."""
    lists = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else ())]
    numbers = [n for axes in lists for n in axes if n is not Ellipsis]
    if not all(isinstance(n, int) and 0 <= n < len(_LETTERS) for n in numbers):
        raise RuntimeError(f"einsum(): subscripts must be numbers from 0 to {len(_LETTERS) - 1}, not {numbers}")
    terms = ["".join("..." if n is Ellipsis else _LETTERS[n] for n in axes) for axes in lists]
    count = len(operands) // 2
    return ",".join(terms[:count]) + "".join(f"->{term}" for term in terms[count:]), operands[: 2 * count : 2]


def _without_repeats(tensor: Tensor, term: str) -> tuple[Tensor, str]:
    """The diagonal where an operand names a letter twice ("ii")."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            tensor = tensor.diagonal(0, first, second)
            term = "".join(c for i, c in enumerate(term) if i not in (first, second)) + letter
    return tensor, term


def _arranged(tensor: Tensor, letters: str, result: str) -> Tensor:
    """Summed over the letters the result lacks, and in its order."""
    lonely = tuple(i for i, c in enumerate(letters) if c not in result)
    if lonely:
        tensor = tensor.sum(lonely)
        letters = "".join(c for c in letters if c in result)
    return tensor if letters == result else tensor.permute([letters.index(c) for c in result])


# Made of others -------------------------------------------------------------------------------------------


@method(in_place=True)
@factors_first
@rounded_once(of_products=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat vec."""
    return _base(input, beta) + scaled(mv(mat, vec), alpha)


@method(in_place=True)
@factors_first
@rounded_once
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · vec1 vec2ᵀ; of bools, + is "or"."""
    if all(x.array.dtype == bool for x in (input, vec1, vec2)):
        return (input & bool(beta)) | (outer(vec1, vec2) & bool(alpha))
    return _base(input, beta) + scaled(outer(vec1, vec2), alpha)


@method(in_place=True)
@factors_first
@rounded_once(of_products=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · Σ batch1 batch2, summed over the batch."""
    return _base(input, beta) + scaled(bmm(batch1, batch2).sum(0, dtype=batch1.dtype), alpha)


def _base(x: Tensor, beta: float) -> Tensor:
    """beta · x; with beta 0 zeros, whatever x holds, as in BLAS."""
    return level(zeros_like(x.detach()), x) if beta == 0 else scaled(x, beta)


@method
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Σ conj(aᵢ) bᵢ of two vectors."""
    return dot(input.conj(), other)


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last axis of both."""
    if not input.array.ndim or not other.array.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@function
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    listed: Any = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)) else matrices
    product: Tensor = listed[0]
    for matrix in listed[1:]:
        product = matmul(product, matrix)
    return product


@function
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over the last ``dims`` axes of a and the first of b, or over the two lists of axes.

    >>> mg.tensordot(mg.ones(2, 3, 4), mg.ones(3, 4, 5), dims=2).shape
    minigrad.Size([2, 5])
    """
    if isinstance(dims, int):
        left = list(range(a.array.ndim - dims, a.array.ndim))
        right = list(range(dims))
    else:
        left = [d % a.array.ndim for d in ([dims[0]] if isinstance(dims[0], int) else dims[0])]
        right = [d % b.array.ndim for d in ([dims[1]] if isinstance(dims[1], int) else dims[1])]
    rows = [d for d in range(a.array.ndim) if d not in left]
    columns = [d for d in range(b.array.ndim) if d not in right]
    shape = [a.array.shape[d] for d in rows] + [b.array.shape[d] for d in columns]
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have the same length: {left} and {right}")
    for m, n in zip(left, right, strict=True):
        if 1 not in (a.array.shape[m], b.array.shape[n]) and a.array.shape[m] != b.array.shape[n]:
            raise RuntimeError(
                f"contracted dimensions need to match, but axis {m} of the first has length {a.array.shape[m]} and "
                f"axis {n} of the second {b.array.shape[n]}"
            )
        if a.array.shape[m] != b.array.shape[n]:  # one of length 1 broadcasts
            a, b = (a, b.sum(n, True)) if a.array.shape[m] == 1 else (a.sum(m, True), b)
    count, high = prod(a.array.shape[d] for d in left), prod(a.array.shape[d] for d in rows)
    wide = prod(b.array.shape[d] for d in columns)
    product = a.permute(rows + left).reshape(high, count) @ b.permute(right + columns).reshape(count, wide)
    return product.reshape(shape)


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: each element of the input times the other tensor, as blocks."""
    n = max(input.array.ndim, other.array.ndim)
    a = (1,) * (n - input.array.ndim) + tuple(input.array.shape)
    b = (1,) * (n - other.array.ndim) + tuple(other.array.shape)
    left = input.reshape([k for size in a for k in (size, 1)])
    right = other.reshape([k for size in b for k in (1, size)])
    return (left * right).reshape([p * q for p, q in zip(a, b, strict=True)])


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along an axis of length 3 (by default the first such axis); shapes broadcast.

    Raises:
        RuntimeError: the axis has another length. IndexError: there is no such axis.

    >>> mg.cross(mg.tensor([1.0, 0, 0]), mg.tensor([0.0, 1, 0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.array.shape) if n == 3), -1)
    lengths = {t.array.shape[axis(dim, t.array.ndim)] if t.array.ndim else 0 for t in (input, other)}
    if lengths != {3}:
        raise RuntimeError(f"inputs dimension {dim} must have length 3: got {input.shape} and {other.shape}")
    (a, b, c), (d, e, f) = input.unbind(dim), other.unbind(dim)
    return stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)


@function
@rounded_once
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances between the rows of two batches: (..., P, M), (..., R, M) -> (..., P, R)."""
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, "cdist")


def _lengths(apart: Tensor, p: float, name: str) -> Tensor:
    """p-norms of differences along the last axis, also of none; of p = 0 how many are not 0, NaN if one is NaN."""
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")
    if p == 1:  # the slope at NaN is NaN, unlike that of a norm
        rest = apart.detach()
        return (apart * where(rest.isnan(), rest, rest.sign())).sum(-1)
    return apart.norm(p, -1) if p and apart.shape[-1] else apart.abs().ceil().clamp(max=1).sum(-1)


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix to a power, n >= 0; of a negative n the power of its inverse."""
    if n < 0:
        return matrix_power(apply(decompositions.inverse, (input,)), -n)
    out = eye(input.array.shape[-1], dtype=input.dtype, device=input.device).expand(input.array.shape)
    out = level(out, input) if n == 0 else out
    while n:
        out = matmul(out, input) if n & 1 else out
        input, n = (matmul(input, input) if n > 1 else input), n >> 1
    return out


@method
def matrix_exp(input: Tensor) -> Tensor:
    """eˣ of square matrices: Σ xⁿ / n!"""
    shape = input.array.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise RuntimeError(f"linalg.matrix_exp: A must be batches of square matrices, but its shape is {list(shape)}")
    if kind_of(input.array) not in "fc":
        raise RuntimeError(f"linalg.matrix_exp: Expected a floating point or complex tensor, not {input.dtype}")
    return apply(decompositions.matrix_exp, (input,))


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector as columns, (len(x), N): the highest first, or the lowest if ``increasing``."""
    count = x.array.shape[0] if N is None else N
    powers = arange(count, device=x.device) if increasing else arange(count - 1, -1, -1, device=x.device)
    return x.unsqueeze(-1) ** powers


@function
@rounded_once
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between any two rows, (N, M) -> (N (N - 1) / 2)."""
    first, second = np.triu_indices(input.array.shape[0], 1)
    return _lengths(input[first] - input[second], p, "pdist")
