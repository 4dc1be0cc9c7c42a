"""L-BFGS: Newton's method with the curvature estimated from recent steps (Liu and Nocedal 1989).

The line search looks for a point that satisfies the strong Wolfe conditions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...autograd import enable_grad
from ...autograd.origin import note_change
from ...autograd.tape import wrap
from ...backend import xp
from ...backend.dtype import Array
from ...optim.optimizer import Optimizer, Params, Rate, State, checked, parts

ENOUGH = 1e-4  # the minimum decrease, as a fraction of the decrease predicted by the slope
FLATTER = 0.9  # the maximum slope, as a fraction of the initial slope


class Point(NamedTuple):
    """A point on the line."""

    t: float  # the distance along the direction
    f: float  # the loss at this point
    gradient: Array
    slope: float  # the derivative along the line


class LBFGS(Optimizer):
    """Takes several Newton-like steps per batch, so ``step(closure)`` computes the loss repeatedly.

    Args:
        params: a single group; ValueError is raised for several. lr: the factor that multiplies the direction.
        max_iter, max_eval: the most steps and evaluations per call. If None, max_eval is max_iter · 1.25.
        tolerance_grad: stop if no absolute value in the gradient is larger.
        tolerance_change: stop if the loss or the parameters change by less.
        history_size: the number of recent steps used to estimate the curvature.
        line_search_fn: None or "strong_wolfe".
    """

    def __init__(
        self,
        params: Params,
        lr: Rate = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, checked(locals()))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Take steps until a limit or a tolerance is reached. Raises RuntimeError for an unknown ``line_search_fn``.

        ``closure`` clears the gradients, computes new ones, and returns the loss. ``step`` returns the first loss.
        """
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        earlier = state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first, gradient = self._evaluate(closure, state)
        now = Point(0.0, float(first), gradient, 0.0)
        if _largest(now.gradient) <= group["tolerance_grad"]:
            return first
        for count in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = _direction(state, now.gradient, group["history_size"])
            lr, slope = float(group["lr"]), float(now.gradient @ d)
            t = lr * min(1.0, 1.0 / float(abs(now.gradient).sum())) if state["n_iter"] == 1 else lr
            state.update(d=wrap(d), t=t, prev_flat_grad=wrap(now.gradient), prev_loss=now.f)
            if slope > -group["tolerance_change"]:
                break
            before = now._replace(t=0.0, slope=slope)
            now = self._move(closure, state, before, t, d, count == group["max_iter"])
            state["t"] = now.t
            if (
                state["func_evals"] - earlier >= group["max_eval"]
                or _largest(now.gradient) <= group["tolerance_grad"]
                or _largest(now.t * d) <= group["tolerance_change"]
                or abs(now.f - before.f) < group["tolerance_change"]
            ):
                break
        return first

    def _evaluate(self, closure: Callable[[], Any], state: State) -> tuple[Any, Array]:
        """The loss and all gradients as one vector, with complex numbers split into real and imaginary parts."""
        state["func_evals"] += 1
        with enable_grad():
            loss = closure()
        params = self.param_groups[0]["params"]
        lib = xp(params[0].array)
        flat = [lib.zeros_like(p.array) if p._grad is None else p._grad.array for p in params]
        return loss, lib.concatenate([parts(a).reshape(-1) for a in flat])

    def _move(self, closure: Callable[[], Any], state: State, now: Point, t: float, d: Array, last: bool) -> Point:
        search, params = self.param_groups[0]["line_search_fn"], self.param_groups[0]["params"]
        start = [parts(p.array).copy() for p in params]

        def go(t: float) -> None:
            offset = 0
            for p, first in zip(params, start, strict=True):
                parts(p.array)[...] = first + t * d[offset : offset + first.size].reshape(first.shape)
                offset += first.size
                note_change(p._changes, "step", "LBFGS.step()")

        def at(t: float) -> Point:
            go(t)
            loss, g = self._evaluate(closure, state)
            return Point(t, float(loss), g, float(g @ d))

        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        if search is None and not last:
            return at(t)
        new = now._replace(t=t)  # the last step's loss is not needed
        if search is not None:
            new = strong_wolfe(at, now, t, _largest(d))
        go(new.t)
        return new


def _largest(vector: Array) -> float:
    return float(abs(vector).max())


def _direction(state: State, g: Array, history: int) -> Array:
    """-H g, where H is the inverse Hessian, estimated from recent steps by the two-loop recursion."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -g
    y, s = g - state["prev_flat_grad"].array, state["d"].array * state["t"]
    ys = y @ s
    if float(ys) > 1e-10:
        for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
            state[name] = [*state[name], wrap(value)][-history:]
        state["H_diag"] = wrap(ys / (y @ y))
    pairs = zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True)
    steps = [tuple(v.array for v in each) for each in pairs]
    q, parts = -g, []
    for y, s, rho in reversed(steps):
        parts.append((s @ q) * rho)
        q = q - parts[-1] * y
    q = q * getattr(state["H_diag"], "array", state["H_diag"])
    for (y, s, rho), part in zip(steps, reversed(parts), strict=True):
        q = q + s * (part - (y @ q) * rho)
    return q


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """The minimum of the cubic with the values and slopes of two points, clipped to [low, high]."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(
    at: Callable[[float], Point], start: Point, t: float, length: float, tolerance: float = 1e-9, most: int = 25
) -> Point:
    """A point with enough decrease and a flat enough slope (Nocedal and Wright 2006, algorithms 3.5 and 3.6).

    Args:
        at: returns the point at t. start: the point at 0, whose slope is negative.
        t: the first t to try. length: the largest element of the direction.
        tolerance: give up if the bracket is shorter. most: the maximum number of points to try.
    """
    low, high, is_good, tries = _bracket(at, start, t, most)
    insufficient = False
    while not is_good and tries < most and abs(high.t - low.t) * length >= tolerance:
        left, right = sorted((low.t, high.t))
        t = cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (insufficient or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near = False
        insufficient = near  # do not stay so close to an end twice in a row
        new = at(t)
        tries += 1
        if new.f > start.f + ENOUGH * t * start.slope or new.f >= low.f:
            low, high = (low, new) if low.f <= new.f else (new, low)
            continue
        is_good = abs(new.slope) <= -FLATTER * start.slope
        if not is_good and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low


def _bracket(at: Callable[[float], Point], start: Point, t: float, most: int) -> tuple[Point, Point, bool, int]:
    """Find two points with a good point between them, ordered by loss; or a good point, returned twice with True."""
    last, new, tries = start, at(t), 0
    while tries < most:
        if new.f > start.f + ENOUGH * new.t * start.slope or (tries > 1 and new.f >= last.f):
            break
        if abs(new.slope) <= -FLATTER * start.slope:
            return new, new, True, tries
        if new.slope >= 0:
            break
        t = cubic_minimum(last, new, new.t + 0.01 * (new.t - last.t), new.t * 10)
        last, new, tries = new, at(t), tries + 1
    if tries == most:
        last = start
    return (last, new, False, tries) if last.f <= new.f else (new, last, False, tries)
