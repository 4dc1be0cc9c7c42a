"""PyTorch's database of operators on minigrad: what agrees, what differs, what is missing.

    python -m tests.peers.operators float64 [NAME ...]

PyTorch's own tests draw from it (``torch.testing._internal``): for each operator samples of inputs, and inputs that it
must refuse. A *name* here is a function, an alias, a method or an in-place method of the database.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import minigrad
from minigrad.compat.absent import is_absent
from minigrad.extension import MissingName

from .report import Report, show
from .translation import NoCounterpart, Translation, check_equal, counterpart, tensors, translated_function

# Their results are drawn from streams that minigrad does not share, or are memory that is unset: shapes are compared.
RANDOM = {
    "cauchy",
    "exponential",
    "geometric",
    "log_normal",
    "uniform",
    "multinomial",
    "poisson",
    "nn.functional.rrelu",
}
RANDOM |= {f"nn.functional.{name}" for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout")}
RANDOM |= {"nn.functional.feature_alpha_dropout", "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}
RANDOM |= {
    "new_empty_strided",
    "rand_like",
    "randn_like",
    "randint_like",
    "resize_",
    "resize_as_",
    "normal",
    "bernoulli",
}

# The signs (of complex numbers: the phases) of vectors are not specified. Compared is what PyTorch differentiates.
UP_TO_SIGN = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "svd_lowrank", "pca_lowrank"}
# They read a triangle, but PyTorch has gradients for the rest, too; its own tests then pass a triangle, by a wrapper.
OF_A_TRIANGLE = {"cholesky_inverse", "cholesky_solve"}
# Which of equal elements they find is not specified: what stands at their indices is compared. With the place of "dim".
ANY_OF_EQUAL = {"topk": 1, "kthvalue": 1, "mode": 0, "median": 0, "nanmedian": 0, "sort": 0, "argsort": 0}
ALL = slice(None)


@dataclass
class Name:
    """A name of the database: PyTorch's function, and where minigrad's is."""

    text: str
    info: Any
    theirs: Callable[..., Any]
    find: Callable[[], Any]
    in_place: bool = False

    def is_there(self) -> bool:
        """Whether minigrad has it."""
        try:
            found = self.find()
            return found is not None and not is_absent(found)
        except (AttributeError, NotImplementedError):
            return False


def names(info: Any) -> Iterator[Name]:
    """The names of an entry of the database."""
    variant = f" ({info.variant_test_name})" if info.variant_test_name else ""
    for name in (info.name, *(alias.name for alias in info.aliases)):
        yield Name(name + variant, info, info.op, lambda name=name: counterpart(name, info.op))
    short = info.name.rpartition(".")[2]
    if isinstance(info.inplace_variant, partial):  # hardsigmoid(x, inplace=True)
        of = lambda: partial(counterpart(info.name, info.op), **info.inplace_variant.keywords)
        yield Name(f"{info.name}{variant or ' (in place)'}", info, info.inplace_variant, of, in_place=True)
    for method, name in ((info.method_variant, short), (info.inplace_variant, f"{short}_")):
        if isinstance(method, partial) or (isinstance(method, types.FunctionType) and "testing" in method.__module__):
            continue  # a function once more
        if method is not None and not (method is info.inplace_variant and short.endswith("_")):
            find = lambda name=name: getattr(minigrad.Tensor, name)
            yield Name(f"Tensor.{name}{variant}", info, method, find, method is info.inplace_variant)


def compare(name: Name, dtype: torch.dtype) -> Report:
    """A name on all of its samples."""
    report = Report(name.text)
    if not name.is_there():
        report.differences = None
        return report
    ours = name.find()
    differentiable = name.info.supports_autograd and dtype in (torch.float64, torch.complex128)
    torch.manual_seed(0)
    samples = name.info.sample_inputs("cpu", dtype, requires_grad=differentiable and not name.in_place)
    for number, sample in enumerate(samples):
        if name.in_place and (sample.broadcasts_input or not isinstance(sample.input, torch.Tensor)):
            continue
        try:
            _compare_sample(name, ours, sample)
            report.samples += 1
        except NoCounterpart:
            continue
        except Exception as error:
            if isinstance(error, MissingName) or str(error).startswith("minigrad has no torch."):
                report.differences = None  # in a function of the database's own
                return report
            report.differences.append(f"sample {number}: {type(error).__name__}: {error}")  # type: ignore[union-attr]
    return report


def _compare_sample(name: Name, ours: Callable[..., Any], sample: Any) -> None:
    """One sample: results, and gradients where PyTorch has them."""
    translate = Translation()
    args, kwargs = translate((sample.input, *sample.args)), translate(dict(sample.kwargs))
    first = deepcopy(sample.input) if name.in_place else sample.input  # a clone would lose the memory around it
    theirs_called, ours_called = name.theirs, ours
    if name.info.name in OF_A_TRIANGLE:
        wrapper = name.info.gradcheck_wrapper
        theirs_called, ours_called = partial(wrapper, name.theirs), partial(translated_function(wrapper), ours)
    try:
        expected = theirs_called(first, *sample.args, **sample.kwargs)
    except Exception as error:  # such as exp_ of integers
        raise NoCounterpart from error
    result = ours_called(*args, **kwargs)
    process = sample.output_process_fn_grad
    ours_process = translated_function(process) if isinstance(process, types.FunctionType) else process
    results, outputs = list(tensors(expected)), list(tensors(result))
    assert len(results) == len(outputs), f"{len(outputs)} results, PyTorch's {len(results)}"
    if name.in_place:
        assert result is args[0], "another tensor than the one to change"
    random = name.info.name in RANDOM
    has_indices = len(results) > 1 or name.info.name == "argsort"
    if name.info.name in ANY_OF_EQUAL and has_indices and not sample.kwargs.get("stable"):
        dim = (*sample.args, *(-1,) * 2)[ANY_OF_EQUAL[name.info.name]] if "dim" not in kwargs else kwargs["dim"]
        check_equal(results[-1] * 0, outputs[-1] * 0, "zero times the indices")
        results[-1], outputs[-1] = _elements(sample.input, results[-1], dim), _elements(args[0], outputs[-1], dim)
    if name.info.name in UP_TO_SIGN:
        for theirs, own in zip(results, outputs, strict=True):
            check_equal(theirs * 0, own * 0, "zero times the result")
        results, outputs = list(tensors(process(expected))), list(tensors(ours_process(result)))
    for number, (theirs, own) in enumerate(zip(results, outputs, strict=True)):
        what = f"result {number}" if len(results) > 1 else "result"
        if random and isinstance(theirs, torch.Tensor):
            theirs, own = torch.zeros_like(theirs), minigrad.zeros_like(own)
        check_equal(theirs, own, what)
    if translate.leaves and not random:
        compare_gradients(process(expected), ours_process(result), translate)


def _elements(x: Any, index: Any, dim: int) -> Any:
    """What stands at the indices along an axis, which may have been left out; of either library."""
    if x.ndim == 0:
        return x
    return x.take_along_dim(index if index.ndim == x.ndim else index.unsqueeze(dim), dim)


def compare_gradients(expected: Any, result: Any, translate: Translation) -> None:
    """The gradients of all results, weighted."""
    theirs = [r for r in tensors(expected) if isinstance(r, torch.Tensor) and r.requires_grad]
    pairs = zip(tensors(expected), tensors(result), strict=True)
    own = [o for r, o in pairs if isinstance(r, torch.Tensor) and r.requires_grad]
    if not theirs:
        return
    weights = [torch.linspace(0.5, 1.5, r.numel(), dtype=torch.float64).reshape(r.shape).to(r.dtype) for r in theirs]
    inputs = [leaf for leaf, _ in translate.leaves]
    try:
        expected_gradients = torch.autograd.grad(theirs, inputs, weights, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        raise NoCounterpart from error
    assert all(o.requires_grad for o in own), "the result has no gradient"
    ours = minigrad.autograd.grad(
        own, [leaf for _, leaf in translate.leaves], [Translation()(w) for w in weights], allow_unused=True
    )
    for number, ((leaf, our_leaf), a, b) in enumerate(zip(translate.leaves, expected_gradients, ours, strict=True)):
        a, b = torch.zeros_like(leaf) if a is None else a, minigrad.zeros_like(our_leaf) if b is None else b
        check_equal(a, b, f"gradient {number}")


def all_names(dtype: torch.dtype, chosen: tuple[str, ...] = (), part: slice = ALL) -> Iterator[Name]:
    """All names that PyTorch has for a dtype, or those of a part of the database's entries."""
    for info in op_db[part]:
        if info.supports_dtype(dtype, "cpu") and (not chosen or info.name in chosen):
            yield from names(info)


def reports(dtype: torch.dtype, chosen: tuple[str, ...] = (), part: slice = ALL) -> Iterator[Report]:
    """The same names, compared."""
    for name in all_names(dtype, chosen, part):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield compare(name, dtype)


def public_names() -> dict[str, bool]:
    """Whether minigrad has each of the database's names, in any dtype; those of internal functions are left out."""
    there: dict[str, bool] = {}
    for info in op_db:
        for name in names(info):
            text = name.text.partition(" (")[0]
            if not text.startswith(("_", "torch.ops.")):
                there[text] = there.get(text, False) or name.is_there()
    return there


def summary_of_public(there: dict[str, bool]) -> str:
    """The counts in a line."""
    return f"of the database's {len(there):,} public names minigrad has {sum(there.values()):,}, whatever the dtype"


def main() -> None:
    """Print what differs and what is missing."""
    dtype, *chosen = sys.argv[1:] or ["float64"]
    show(dtype, list(reports(getattr(torch, dtype), tuple(chosen))))
    if not chosen:
        print(summary_of_public(public_names()))


if __name__ == "__main__":
    main()
