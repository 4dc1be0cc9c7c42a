"""The Kullback-Leibler divergence. Within a class it is the method ``_kl``; this file has those of other pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .distribution import Distribution
from .location_scale import Normal
from .uniform import Uniform

Rule = Callable[[Any, Any], Tensor]
_RULES: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Rule], Rule]:
    """Make a function the rule for a pair of classes: ``@register_kl(Normal, Mine)``.

    Raises:
        TypeError: something else than distributions.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def register(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """∑ p log(p / q), for each of the batch.

    Raises:
        NotImplementedError: no rule for this pair.
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            rule = _RULES.get((kind_p, kind_q))
            if rule is None and kind_p is kind_q:
                rule = vars(kind_p).get("_kl")
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    log_ratio = (math.sqrt(2 * math.pi) * q.scale / width).log()
    return log_ratio + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)
