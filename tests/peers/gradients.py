"""Compares gradients in PyTorch and minigrad: first and second order."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

import minigrad

from .translation import NoCounterpart, Translation, check_equal, tensors

Pairs = list[tuple[Any, Any]]  # PyTorch's tensor and ours


def compare_gradients(expected: Any, result: Any, translate: Translation, again: Any = None) -> None:
    """Raise AssertionError unless the gradients of all results, weighted, agree.

    Args:
        again: computes PyTorch's results once more. If given, also compare the gradients of these gradients, with
            respect to inputs and weights.

    Raises:
        NoCounterpart: PyTorch has no gradients, or its second-order gradients differ and fail its own check.
    """
    results = zip(tensors(expected), tensors(result), strict=True)
    pairs = [(a, b) for a, b in results if isinstance(a, torch.Tensor) and a.requires_grad]
    assert all(b.requires_grad for _, b in pairs), "the result has no gradient"
    leaves, weights = translate.leaves, _weights(pairs, requires_grad=again is not None)
    derivatives = _gradients(pairs, leaves, weights, create_graph=again is not None)
    _check("gradient", leaves, derivatives)
    if again is None:
        return
    pairs = [pair for pair in derivatives if pair[0] is not None and pair[0].requires_grad]
    curvatures = _gradients(pairs, leaves + weights, _weights(pairs, False), create_graph=False)
    try:
        _check("second-order gradient", leaves + weights, curvatures)
    except AssertionError as error:
        if not _is_right(again, [leaf for leaf, _ in leaves]):
            raise NoCounterpart from error
        raise


def _weights(pairs: Pairs, requires_grad: bool) -> Pairs:
    """Weights for results."""
    translate, weights = Translation(), []
    for theirs, _ in pairs:
        numbers = torch.linspace(0.5, 1.5, theirs.numel(), dtype=torch.float64).reshape(theirs.shape).to(theirs.dtype)
        weights.append((numbers.requires_grad_(requires_grad), translate(numbers)))
    return weights


def _gradients(pairs: Pairs, leaves: Pairs, weights: Pairs, create_graph: bool) -> Pairs:
    """Both libraries' gradients of results with respect to leaves; one of our results may be a constant."""
    if not pairs:
        return []
    options: Any = {"create_graph": create_graph, "allow_unused": True}
    try:
        results, inputs, factors = ([a for a, _ in some] for some in (pairs, leaves, weights))
        theirs = torch.autograd.grad(results, inputs, factors, **options)
    except (RuntimeError, NotImplementedError) as error:
        raise NoCounterpart from error
    varying = [(b, w) for (_, b), (_, w) in zip(pairs, weights, strict=True) if b is not None and b.requires_grad]
    ours: Any = [None] * len(leaves)
    if varying:
        own, own_factors = zip(*varying, strict=True)
        ours = minigrad.autograd.grad(own, [b for _, b in leaves], own_factors, **options)
    return list(zip(theirs, ours, strict=True))


def _check(what: str, leaves: Pairs, gradients: Pairs) -> None:
    """Raise AssertionError unless gradients agree; None is 0."""
    for number, ((leaf, own), (a, b)) in enumerate(zip(leaves, gradients, strict=False)):
        a, b = torch.zeros_like(leaf) if a is None else a, minigrad.zeros_like(own) if b is None else b
        check_equal(a.detach(), b.detach(), f"{what} {number}")


def _is_right(again: Callable[[], Any], leaves: list[torch.Tensor]) -> bool:
    """Whether PyTorch's second-order gradients pass its own check, which changes and restores the leaves."""
    results = lambda *_: tuple(r for r in tensors(again()) if isinstance(r, torch.Tensor) and r.requires_grad)
    try:
        options: Any = {"check_undefined_grad": False, "fast_mode": True, "raise_exception": False}
        return bool(torch.autograd.gradgradcheck(results, leaves, **options))
    except RuntimeError:
        return False


def of_every_argument(sample: Any) -> Iterator[bool]:
    """Make arguments of a sample require gradients: all floats; the ones that PyTorch's tests differentiate; these plus
    each other float. Yields whether it is all."""
    both = (x for x in tensors((sample.input, sample.args, sample.kwargs)) if isinstance(x, torch.Tensor))
    floats = [x for x in both if x.is_leaf and x.is_floating_point()]
    usual = [x for x in floats if x.requires_grad]
    for arguments in (floats, usual, *([*usual, x] for x in floats if not x.requires_grad)):
        for x in floats:
            x.requires_grad_(any(x is some for some in arguments))
        yield arguments is floats
