"""Runs PyTorch's database of modules on minigrad, and reports agreements, differences and missing names.

Both modules are created from the same seed and must start with the same numbers under the same names. Then results,
the gradients of inputs and parameters, and buffers are compared, in training and evaluation mode. A module must also
reject the inputs that PyTorch's rejects.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import minigrad

from .gradients import compare_gradients
from .report import Report
from .translation import NoCounterpart, Translation, check_equal, seeded, tensors


def compare(info: Any, dtype: torch.dtype) -> Report:
    """Compare a module on all of its samples."""
    name = info.module_cls.__name__
    report = Report(name)
    try:
        ours = getattr(minigrad.nn, name)
    except (AttributeError, NotImplementedError):
        report.differences = None
        return report
    for training in (True, False):
        torch.manual_seed(0)
        options = {"device": "cpu", "dtype": dtype, "training": training}
        samples = info.module_inputs_func(info, requires_grad=True, **options)
        errors = info.module_error_inputs_func or (lambda info, **options: [])
        checks = [(_compare_sample, sample, (training, dtype, info.is_lazy)) for sample in samples]
        checks += [(_check_refused, error, ()) for error in errors(info, requires_grad=False, **options)]
        for number, (check, sample, settings) in enumerate(checks):
            try:
                check(info.module_cls, ours, sample, *settings)
                report.samples += 1
            except NoCounterpart:
                continue
            except Exception as error:
                mode = "training" if training else "evaluation"
                line = f"{mode}, sample {number}: {type(error).__name__}: {error}"
                report.differences.append(line)  # type: ignore[union-attr]
    return report


def _compare_sample(theirs: Any, ours: Any, sample: Any, training: bool, dtype: torch.dtype, is_lazy: bool) -> None:
    """Compare one sample: initial numbers, results, gradients, buffers."""
    translate = Translation()
    init, forward = sample.constructor_input, sample.forward_input
    module = _seeded_alike(lambda: theirs(*init.args, **init.kwargs))
    own = seeded(ours, *translate(init.args), **translate(init.kwargs))
    kind = translate(dtype)
    assert repr(module) == repr(own), f"repr is {own!r}, PyTorch's {module!r}"
    module, own = module.to(dtype).train(training), own.to(kind).train(training)
    if forward is None:
        return _check_state(module, own, "first numbers")
    args, kwargs = translate(forward.args), translate(forward.kwargs)
    if is_lazy:
        with torch.no_grad(), minigrad.no_grad():
            _seeded_alike(lambda: module(*forward.args, **forward.kwargs))
            seeded(own, *args, **kwargs)
        assert repr(module) == repr(own), f"repr is {own!r}, PyTorch's {module!r}"
    _check_state(module, own, "first numbers")
    own.load_state_dict(Translation()(dict(module.state_dict())))  # the last bits of normal numbers may differ
    expected, result = _seeded_alike(lambda: module(*forward.args, **forward.kwargs)), seeded(own, *args, **kwargs)
    for number, (a, b) in enumerate(zip(tensors(expected), tensors(result), strict=True)):
        check_equal(a, b, f"result {number}")
    _check_state(module, own, "state")
    translate.leaves += list(zip(module.parameters(), own.parameters(), strict=True))
    compare_gradients(expected, result, translate)


def _seeded_alike(call: Any) -> Any:
    """``seeded`` for PyTorch's module."""
    with torch.random.fork_rng():
        torch.manual_seed(42)
        return call()


def _check_state(theirs: Any, ours: Any, what: str) -> None:
    expected, actual = theirs.state_dict(), ours.state_dict()
    assert list(expected) == list(actual), f"{what}: names {list(actual)}, PyTorch's {list(expected)}"
    for name, value in expected.items():
        check_equal(value, actual[name], f"{what}: {name}")


def _check_refused(theirs: Any, ours: Any, error: Any) -> None:
    """Check that both modules reject an input, at the same point and with the same type of error."""
    translate, sample = Translation(), error.module_error_input
    init, forward = sample.constructor_input, sample.forward_input
    try:
        module = ours(*translate(init.args), **translate(init.kwargs))
        if error.error_on is not ModuleErrorEnum.CONSTRUCTION_ERROR:
            module(*translate(forward.args), **translate(forward.kwargs))
    except error.error_type:
        return
    except Exception as refusal:
        expected = getattr(error.error_type, "__name__", error.error_type)
        raise AssertionError(f"rejected with {refusal!r}, PyTorch with {expected}: {error.error_regex}") from refusal
    raise AssertionError(f"accepted, PyTorch: {error.error_regex}")


def reports(dtype: torch.dtype) -> Iterator[Report]:
    """Compare all modules that PyTorch has for a dtype."""
    for info in module_db:
        if dtype in info.dtypes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield compare(info, dtype)
