"""Products of vectors and matrices, under PyTorch's names."""

from __future__ import annotations

from typing import Any

from ..autograd.graph import as_one
from ..autograd.tape import Variable
from ..ops import linear as ops
from ..tensor import Tensor, apply
from .arguments import products_rounded_once, rounded_once, scaled
from .creation import zeros_like
from .define import factors_first, function, method
from .pointwise import level

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # for einsum, in order


@method
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, which sums over the last axis of ``input`` and the second-to-last axis of ``other``.

    >>> mg.tensor([[1, 2], [3, 4]]) @ mg.tensor([1, 1])
    tensor([3, 7])
    >>> (mg.zeros(5, 2, 3) @ mg.zeros(3, 4)).shape
    minigrad.Size([5, 2, 4])
    """
    check_floats_agree(input, other, "matmul")
    return apply(ops.matmul, (input, other))


def check_floats_agree(a: Tensor, b: Tensor, name: str) -> None:
    """Raise an error for mixed dtypes, since a product of float32 and float64 is usually a mistake."""
    if a.array.dtype is not b.array.dtype and a.array.dtype != b.array.dtype:
        dtypes = f"but got: {a.dtype} and {b.dtype}. Convert one with .to(dtype)"
        raise RuntimeError(f"{name}: expected both operands to have the same dtype, {dtypes}")


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
    """The products of two batches of matrices, (B, N, M) and (B, M, P). The result has shape (B, N, P).

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
    """The dot product Σ aᵢ bᵢ of two vectors.

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
    """The outer product aᵢ bⱼ of two vectors.

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
@products_rounded_once
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat1 mat2."""
    return _base(input, beta) + scaled(mm(mat1, mat2), alpha)


@method(in_place=True)
@factors_first
@products_rounded_once
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · batch1 batch2, for each matrix in the batch."""
    return _base(input, beta) + scaled(bmm(batch1, batch2), alpha)


@function
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein summation, like "bhid,bhjd->bhij". An equation has letters for the axes of each operand, an ellipsis for
    axes that broadcast, "->", and the letters of the result (by default, the letters that occur once, in alphabetical
    order). Letters missing from the result are summed over. The tensors, passed separately or in one list, are
    contracted from left to right. Instead of an equation, each tensor may be followed by its axis numbers, with the
    result's axes last: ``einsum(a, [0, 1], [1, 0])``. Raises RuntimeError if the equation does not match the operands.

    >>> q, k = mg.ones(2, 4, 8), mg.ones(2, 5, 8)
    >>> mg.einsum("btd,bsd->bts", q, k).shape
    minigrad.Size([2, 4, 5])
    """
    if isinstance(equation, Variable):
        operands = (equation, *operands)
        count = len(operands) // 2
        axes = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else ())]
        numbers = [n for each in axes for n in each if n is not Ellipsis]
        if not all(isinstance(n, int) and 0 <= n < len(_LETTERS) for n in numbers):
            raise RuntimeError(f"einsum(): subscripts must be numbers from 0 to {len(_LETTERS) - 1}, not {numbers}")
        terms = ["".join("..." if n is Ellipsis else _LETTERS[n] for n in each) for each in axes]
        equation = ",".join(terms[:count]) + "".join(f"->{term}" for term in terms[count:])
        operands = operands[: 2 * count : 2]
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    terms, result = _parse(equation, tensors)
    lengths: dict[str, int] = {}  # by letter; axes of length 1 expand to the length in the other operands
    pairs = [pair for term, x in zip(terms, tensors, strict=True) for pair in zip(term, x.shape, strict=True)]
    for letter, n in pairs:
        length = lengths.setdefault(letter, n)
        if 1 not in (length, n) and length != n:
            raise RuntimeError(f"einsum(): in {equation!r} the subscript {letter!r} has lengths {length} and {n}")
        lengths[letter] = n if length == 1 else length
    for n, term in enumerate(terms):
        shape = tuple(lengths[c] for c in term)
        tensor = tensors[n] if tensors[n].array.shape == shape else tensors[n].expand(shape)
        for letter in dict.fromkeys(term):
            while term.count(letter) > 1:  # "ii": the diagonal
                first, second = term.index(letter), term.rindex(letter)
                tensor = tensor.diagonal(0, first, second)
                term = "".join(c for i, c in enumerate(term) if i not in (first, second)) + letter
        tensors[n], terms[n] = tensor, term
    left, letters = tensors[0], terms[0]
    for n in range(1, len(tensors)):
        later = "".join(terms[n + 1 :]) + result
        rest = "".join(dict.fromkeys(c for c in letters + terms[n] if c in later))
        left = apply(ops.einsum_pair, (left, tensors[n], (letters, terms[n], rest)))
        letters = rest
    lonely = tuple(i for i, c in enumerate(letters) if c not in result)
    if lonely:
        left, letters = left.sum(lonely), "".join(c for c in letters if c in result)
    return left if letters == result else left.permute([letters.index(c) for c in result])


def _parse(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The letters of each operand and of the result. An ellipsis becomes capital letters, assigned from the right."""
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
                f"einsum(): the subscripts {term!r} do not match operand {n} of {tensors[n].ndim} dimensions"
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
        raise RuntimeError(f"einsum(): the result of {equation!r} repeats a subscript or uses an unknown one")
    return terms, result


@method(in_place=True)
@factors_first
@products_rounded_once
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat vec."""
    return _base(input, beta) + scaled(mv(mat, vec), alpha)


@method(in_place=True)
@factors_first
@rounded_once
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · vec1 vec2ᵀ; for bools, + is "or"."""
    if all(x.array.dtype == bool for x in (input, vec1, vec2)):
        return (input & bool(beta)) | (outer(vec1, vec2) & bool(alpha))
    return _base(input, beta) + scaled(outer(vec1, vec2), alpha)


@method(in_place=True)
@factors_first
@products_rounded_once
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · Σ batch1 batch2, summed over the batch."""
    return _base(input, beta) + scaled(bmm(batch1, batch2).sum(0, dtype=batch1.dtype), alpha)


def _base(x: Tensor, beta: float) -> Tensor:
    """beta · x, or zeros if beta is 0, even if x contains NaN, as in BLAS."""
    return level(zeros_like(x.detach()), x) if beta == 0 else scaled(x, beta)
