"""Runs PyTorch's database of optimisers on minigrad, and reports agreements, differences and missing names.

Each runs with each of its options, with and without each of its schedules, on the same parameters and gradients:
parameters, states and rates must agree after every step. Each must also reject the arguments that PyTorch's rejects.
"""

import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import minigrad

from .report import Report
from .translation import NoCounterpart, Translation, check_equal, tensors

STEPS = 6
SHAPES = ((3, 4), (4,), (), (2, 3, 2))
ONLY_OF_ROUNDED = {"Muon": 2e-2}  # PyTorch's rounds its products to bfloat16


def compare(info: Any, dtype: torch.dtype) -> Report:
    """Compare an optimiser with all of its options."""
    report = Report(info.name)
    try:
        ours = getattr(minigrad.optim, info.name)
    except (AttributeError, NotImplementedError):
        report.differences = None
        return report
    options = info.optim_inputs_func(device="cpu", dtype=dtype)
    checks = [(_compare_steps, (sample.kwargs, ())) for sample in options]
    checks += [(_compare_steps, ({}, schedules)) for schedules in info.scheduler_inputs]
    if info.optim_error_inputs_func is not None:
        checks += [(_check_refused, (error,)) for error in info.optim_error_inputs_func(device="cpu", dtype=dtype)]
    for number, (check, arguments) in enumerate(checks):
        try:
            check(info, ours, dtype, *arguments)
            report.samples += 1
        except NoCounterpart:
            continue
        except Exception as error:
            line = f"sample {number}, {arguments}: {type(error).__name__}: {error}"
            report.differences.append(line)  # type: ignore[union-attr]
    return report


def _compare_steps(info: Any, ours: Any, dtype: torch.dtype, options: dict[str, Any], schedules: Any) -> None:
    """Take a few steps, and compare parameters, states and rates."""
    rng, shapes = np.random.default_rng(0), SHAPES[:1] if info.name == "Muon" else SHAPES
    start = [rng.standard_normal(shape) for shape in shapes]
    theirs = [torch.nn.Parameter(torch.from_numpy(np.array(value)).to(dtype)) for value in start]
    own = [minigrad.nn.Parameter(Translation()(p.detach())) for p in theirs]
    a, b = info.optim_cls(theirs, **options), ours(own, **Translation()(options))
    schedulers = [(make(a), _translated(make)(b)) for make in schedules]
    for step in range(STEPS if not info.step_requires_closure else 3):  # later, rounding decides line searches
        targets = [rng.standard_normal(shape) * (1 + step) for shape in shapes]

        def closure(params: Any, library: Any, targets: Any = targets) -> Any:
            """Half the squared distance from the targets, and its gradient."""
            total = 0
            for p, target in zip(params, targets, strict=True):
                there = torch.from_numpy(np.array(target)).to(dtype)
                g = p.detach() - (there if library is torch else Translation()(there))
                p.grad = g.to_sparse() if info.only_supports_sparse_grads and library is torch else g
                total = total + (g * g).sum() / 2
            return total

        for optimizer, params, library in ((a, theirs, torch), (b, own, minigrad)):
            closure(params, library)
            if info.step_requires_closure:
                optimizer.step(lambda params=params, library=library: closure(params, library))
            else:
                optimizer.step()
        loss = 1.0 + step % 2
        for their_schedule, our_schedule in schedulers:
            for schedule in (their_schedule, our_schedule):
                schedule.step(loss) if "Plateau" in type(schedule).__name__ else schedule.step()
        _check_alike(info.name, a, b, theirs, own, f"after step {step + 1}")


def _check_alike(name: str, a: Any, b: Any, theirs: Any, own: Any, when: str) -> None:
    near = ONLY_OF_ROUNDED.get(name)
    for number, (p, q) in enumerate(zip(theirs, own, strict=True)):
        if near:
            np.testing.assert_allclose(q.numpy(force=True), p.numpy(force=True), near, near)
        else:
            check_equal(p, q, f"parameter {number} {when}")
    expected, actual = a.state_dict(), b.state_dict()
    for group, our_group in zip(expected["param_groups"], actual["param_groups"], strict=True):
        unlike = {key for key in group if key not in our_group}
        assert not unlike, f"the group has no {unlike}"
        assert np.isclose(float(group["lr"]), float(our_group["lr"])), f"lr {when}"
    assert list(expected["state"]) == list(actual["state"]), f"state {when}"
    for index, state in expected["state"].items():
        state.pop("al", None)  # memory that LBFGS uses within a step
        assert set(state) == set(actual["state"][index]), f"state {list(actual['state'][index])}, not {list(state)}"
        if not near:
            for key, value in state.items():
                for x, y in zip(tensors(value), tensors(actual["state"][index][key]), strict=True):
                    alike = isinstance(y, (int, float)) and np.isclose(float(x), y)  # 1, 1.0 or a tensor
                    alike or check_equal(x, y, f"state {key} of {index} {when}")


def _translated(make: types.FunctionType) -> Any:
    """``lambda opt: StepLR(opt, ...)`` with minigrad's schedules."""
    schedules = {name: getattr(minigrad.optim.lr_scheduler, name) for name in minigrad.optim.lr_scheduler.__all__}
    return types.FunctionType(make.__code__, {**make.__globals__, **schedules}, make.__name__)


def _check_refused(info: Any, ours: Any, dtype: torch.dtype, error: Any) -> None:
    """Check that both reject arguments, or warn, with the same type of error."""
    sample = error.optimizer_error_input
    if isinstance(sample.params, torch.Tensor):
        params = Translation()(sample.params.detach())
    elif sample.params is None:
        params = [minigrad.nn.Parameter(minigrad.zeros(2, 2))]
    else:
        params = Translation()(sample.params)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            optimizer = ours(params, **Translation()(sample.kwargs))
            if error.error_on is OptimizerErrorEnum.STEP_ERROR:
                for p in params:
                    p.grad = minigrad.ones_like(p)
                optimizer.step()
        except error.error_type:
            return
        except Exception as refusal:
            expected = f"{error.error_type.__name__}: {error.error_regex}"
            raise AssertionError(f"rejected with {refusal!r}, PyTorch with {expected}") from refusal
    raise AssertionError(f"accepted, PyTorch: {error.error_regex}")


def reports(dtype: torch.dtype) -> Iterator[Report]:
    """Compare all optimisers."""
    for info in optim_db:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield compare(info, dtype)
