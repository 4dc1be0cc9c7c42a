"""Runs PyTorch's database of operators on minigrad, and reports agreements, differences and missing names.

PyTorch's own tests use it (``torch.testing._internal``): for each operator it has sample inputs, and inputs that it
must reject. A *name* here is a function, an alias, a method or an in-place method in the database.
"""

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

from .gradients import compare_gradients, of_every_argument
from .report import Report
from .translation import NoCounterpart, Translation, check_equal, check_kind, counterpart, tensors, translated_function

# Their results come from random streams that minigrad does not share, or are uninitialised memory: compare shapes.
RANDOM = {"cauchy", "exponential", "geometric", "log_normal", "uniform", "multinomial", "poisson", "normal"}
RANDOM |= {"bernoulli", "rand_like", "randn_like", "randint_like", "empty", "empty_like", "empty_permuted"}
RANDOM |= {"empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_", "nn.functional.rrelu"}
RANDOM |= {f"nn.functional.{name}" for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout")}
RANDOM |= {"nn.functional.feature_alpha_dropout"}

# The signs (for complex numbers, the phases) of vectors are not specified. Compare what PyTorch differentiates.
UP_TO_SIGN = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "svd_lowrank", "pca_lowrank"}
# Which of equal elements they find is not specified: compare the elements at their indices. With "dim"'s position.
ANY_OF_EQUAL = {"topk": 1, "kthvalue": 1, "mode": 0, "median": 0, "nanmedian": 0, "sort": 0, "argsort": 0}
ALL = slice(None)
SECOND = "second-order"  # the run for gradients of gradients, in float64


@dataclass
class Name:
    """A name in the database: PyTorch's function, and how to find minigrad's."""

    text: str
    info: Any
    theirs: Callable[..., Any]
    find: Callable[[], Any]
    in_place: bool = False

    def is_there(self) -> bool:
        """Whether minigrad has it."""
        try:
            function = self.find()
            return function is not None and not is_absent(function)
        except (AttributeError, NotImplementedError):
            return False


def names(info: Any) -> Iterator[Name]:
    """The names of a database entry."""
    variant = f" ({info.variant_test_name})" if info.variant_test_name else ""
    for name in (info.name, *(alias.name for alias in info.aliases)):
        yield Name(name + variant, info, info.op, lambda name=name: counterpart(name, info.op))
    short = info.name.rpartition(".")[2]
    if isinstance(info.inplace_variant, partial):  # hardsigmoid(x, inplace=True)
        of = lambda: partial(counterpart(info.name, info.op), **info.inplace_variant.keywords)
        yield Name(f"{info.name}{variant or ' (in place)'}", info, info.inplace_variant, of, in_place=True)
    for method, name in ((info.method_variant, short), (info.inplace_variant, f"{short}_")):
        if isinstance(method, partial) or (isinstance(method, types.FunctionType) and "testing" in method.__module__):
            continue  # a duplicate of the function
        if method is not None and not (method is info.inplace_variant and short.endswith("_")):
            find = lambda name=name: getattr(minigrad.Tensor, name)
            yield Name(f"Tensor.{name}{variant}", info, method, find, method is info.inplace_variant)


def compare(name: Name, dtype: torch.dtype, second: bool = False) -> Report:
    """Compare a name on all of its samples; ``second``: with second-order gradients, for all arguments."""
    report = Report(name.text)
    if not name.is_there():
        report.differences = None
        return report
    ours = name.find()
    differentiable = name.info.supports_autograd and dtype in (torch.float64, torch.complex128)
    torch.manual_seed(0)
    samples = name.info.sample_inputs("cpu", dtype, requires_grad=differentiable and (second or not name.in_place))
    compare_one = _with_every_argument if second else _compare_sample
    for number, sample in enumerate(samples):
        if name.in_place and (sample.broadcasts_input or not isinstance(sample.input, torch.Tensor)):
            continue
        try:
            compare_one(name, ours, sample)
            report.samples += 1
        except NoCounterpart:
            continue
        except Exception as error:
            if isinstance(error, MissingName) or str(error).startswith("minigrad has no torch."):
                report.differences = None  # in one of the database's own functions
                return report
            report.differences.append(f"sample {number}: {type(error).__name__}: {error}")  # type: ignore[union-attr]
    return report


def _with_every_argument(name: Name, ours: Callable[..., Any], sample: Any) -> None:
    """Compare one sample: results and gradients of both orders, with respect to all arguments that PyTorch allows."""
    compared = False
    for is_all in of_every_argument(sample):
        try:
            _compare_sample(name, ours, sample, second=True)
        except NoCounterpart:
            continue
        compared = True
        if is_all:
            break
    if not compared:
        raise NoCounterpart


def _compare_sample(name: Name, ours: Callable[..., Any], sample: Any, second: bool = False) -> None:
    """Compare one sample: results, and gradients if PyTorch has them."""
    translate = Translation()
    args, kwargs = translate((sample.input, *sample.args)), translate(dict(sample.kwargs))
    if name.in_place and second:
        args = (args[0].clone(), *args[1:])
    call = partial(_called, name, sample, second)
    try:
        expected = call()
    except Exception as error:  # such as exp_ of integers
        raise NoCounterpart from error
    result = ours(*args, **kwargs)
    check_kind(expected, result)
    process = sample.output_process_fn_grad
    ours_process = translated_function(process) if isinstance(process, types.FunctionType) else process
    results, outputs = list(tensors(expected)), list(tensors(result))
    assert len(results) == len(outputs), f"{len(outputs)} results, PyTorch's {len(results)}"
    if name.in_place:
        assert result is args[0], "not the tensor to change"
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
        again = (lambda: process(call())) if second else None
        compare_gradients(process(expected), ours_process(result), translate, again)


def _called(name: Name, sample: Any, second: bool) -> Any:
    """PyTorch's result."""
    x = sample.input
    if name.in_place:
        x = x.clone() if second else deepcopy(x)  # a clone would lose the memory around it
    return name.theirs(x, *sample.args, **sample.kwargs)


def _elements(x: Any, index: Any, dim: int) -> Any:
    """The elements at the indices along an axis, which may be omitted; for either library."""
    if x.ndim == 0:
        return x
    return x.take_along_dim(index if index.ndim == x.ndim else index.unsqueeze(dim), dim)


def all_names(dtype: torch.dtype, part: slice = ALL) -> Iterator[Name]:
    """All names that PyTorch has for a dtype, or the ones in a part of the database."""
    for info in op_db[part]:
        if info.supports_dtype(dtype, "cpu"):
            yield from names(info)


def reports(dtype: torch.dtype, part: slice = ALL, second: bool = False) -> Iterator[Report]:
    """Compare the same names; ``second``: the names that PyTorch differentiates twice, by ``compare``."""
    for name in all_names(dtype, part):
        if second and not (name.info.supports_gradgrad and (not name.in_place or name.info.supports_inplace_autograd)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield compare(name, dtype, second)


def public_names() -> dict[str, bool]:
    """Whether minigrad has each of the database's names, in any dtype; leaves out internal functions."""
    there: dict[str, bool] = {}
    for info in op_db:
        for name in names(info):
            text = name.text.partition(" (")[0]
            if not text.startswith(("_", "torch.ops.")):
                there[text] = there.get(text, False) or name.is_there()
    return there
