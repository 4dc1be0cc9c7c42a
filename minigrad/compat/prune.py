"""``torch.nn.utils.prune``: pruning, which multiplies parameters by masks of zeros and ones (Han et al. 2015).

A pruned parameter is stored as ``name_orig``; the buffer ``name_mask`` shows which elements remain. Before each forward
pass, a hook sets the attribute ``name`` to their product, so that training continues with the remaining elements.

    prune.l1_unstructured(layer, "weight", amount=0.3)  # the smallest 30 %
    prune.ln_structured(layer, "weight", amount=2, n=2, dim=0)  # two more rows, those with the smallest norms
    prune.remove(layer, "weight")  # an ordinary parameter again, with zeros

An int ``amount`` is a number of elements (or slices); otherwise, it is a fraction of them, from 0 to 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from ..backend.dtype import contiguous_format
from ..functions.creation import ones_like, zeros_like
from ..functions.random import rand, rand_like
from ..functions.reduction import norm
from ..nn.module import Module
from ..tensor import Tensor
from .nn.utils.convert_parameters import parameters_to_vector

M = TypeVar("M", bound=Module)


class BasePruningMethod(ABC):
    """A pruning method, which is also the hook before a module's forward pass. Subclasses implement ``compute_mask``.
    ``PRUNING_TYPE`` says from which set a second pruning selects: the remaining elements ("unstructured"), the
    remaining slices of ``dim`` ("structured"), or all elements ("global")."""

    PRUNING_TYPE: ClassVar[str] = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Compute the mask for a tensor of scores. It must be zero wherever ``default_mask`` is zero."""

    def apply_mask(self, module: Module) -> Tensor:
        """The product of the parameter and its mask."""
        name = self._tensor_name
        original, mask = module._parameters[f"{name}_orig"], module._buffers[f"{name}_mask"]
        if original is None or mask is None:
            raise AssertionError(f"{module._get_name()} has no parameter {name!r} to prune")
        return original * mask.to(dtype=original.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter with a method created from the arguments. It compares the parameter's values, or
        ``importance_scores`` of the same shape. Returns the hook or, from the second pruning on, a PruningContainer."""
        earlier = _hook(module, name)
        value = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != value.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}: "
                f"{tuple(value.shape)}, not {tuple(importance_scores.shape)}"
            )
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier is None:
            mask = ones_like(value.detach())
        else:
            method = PruningContainer(*getattr(earlier[1], "_pruning_methods", [earlier[1]]), method)
            mask = getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(value if importance_scores is None else importance_scores, default_mask=mask)
        if earlier is None:
            module.register_parameter(f"{name}_orig", module._parameters.pop(name))
        else:
            del module._forward_pre_hooks[earlier[0]]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Multiply a tensor by a mask, computed from the tensor or from ``importance_scores`` of the same shape."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter again, keeping the object that optimisers refer to."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original: Any = module._parameters.pop(f"{name}_orig")
        original.data = pruned.data
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, applied in order. Each considers only the elements left by earlier ones."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method. Raises TypeError for other objects, and ValueError if it prunes another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods for {self._tensor_name!r}, not {method._tensor_name!r}")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The previous mask, combined with the last method's mask for the remaining part of ``t``."""
        method: Any = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype, copy=True)
        part: Any = (slice(None),) * t.ndim
        if method.PRUNING_TYPE == "unstructured":
            part = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            part = (*part[:dim], mask.movedim(dim, 0).flatten(1).sum(1) != 0)
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[part] = method.compute_mask(t[part], default_mask=mask[part]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A mask of ones, for parameters that need a mask without being pruned."""

    compute_mask = lambda self, t, default_mask: default_mask


class _ByAmount(BasePruningMethod):
    _scores: Any  # of elements or slices; those with the lowest scores are pruned

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, (int, float)):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or not (isinstance(amount, int) or amount <= 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _number(self, available: int) -> int:
        number = self.amount if isinstance(self.amount, int) else round(self.amount * available)
        if number > available:
            raise ValueError(f"amount={number} should be smaller than the number of parameters to prune={available}")
        return number


class _Elements(_ByAmount):
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number = self._number(t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if number:
            mask.view(-1)[self._scores(t).reshape(-1).topk(number, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Elements):
    """Prunes elements at random."""

    _scores = lambda self, t: -rand_like(t)  # the largest random numbers are pruned, as in PyTorch


class L1Unstructured(_Elements):
    """Prunes the elements with the smallest absolute values."""

    _scores = lambda self, t: t.detach().abs()


class _Slices(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors, not {tuple(t.shape)}"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        length = t.shape[self.dim]
        number = self._number(length)
        if not number:
            return default_mask
        mask = zeros_like(t)
        mask.movedim(self.dim, 0)[self._scores(t).topk(length - number).indices] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Slices):
    """Prunes slices at random."""

    _scores = lambda self, t: rand(t.shape[self.dim])


class LnStructured(_Slices):
    """Prunes the slices with the smallest norm of order ``n``."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        return norm(t.detach(), self.n, [axis for axis in range(t.ndim) if axis != self.dim % t.ndim])


class CustomFromMask(BasePruningMethod):
    """Prunes where the caller's mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"the mask has shape {tuple(self.mask.shape)}, not {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _by(method: type[BasePruningMethod], words: str) -> Any:
    """A function that prunes a parameter with a method, whose arguments follow the parameter name."""

    def prune(module: M, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> M:
        method.apply(module, name, *args, importance_scores=importance_scores, **kwargs)
        return module

    prune.__doc__ = f"{words} Returns the module."
    return prune


identity = _by(Identity, "Give a parameter a mask of ones.")
random_unstructured = _by(RandomUnstructured, "Prune ``amount`` elements of a parameter at random.")
l1_unstructured = _by(L1Unstructured, "Prune the ``amount`` elements with the smallest absolute values.")
random_structured = _by(RandomStructured, "Prune ``amount`` slices of the axis ``dim`` of a parameter at random.")
ln_structured = _by(LnStructured, "Prune the ``amount`` slices of the axis ``dim`` with the smallest ``n``-norms.")
custom_from_mask = _by(CustomFromMask, "Prune a parameter where ``mask``, which has the same shape, is zero.")


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters, passed as (module, name) pairs, as one vector. The method must be unstructured and gets
    ``kwargs``. ``importance_scores`` maps pairs to scores. Raises TypeError for other arguments."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs, scores = list(parameters), {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported, not {method.PRUNING_TYPE!r} of {pruning_method}')
    values = [getattr(module, name).detach() for module, name in pairs]
    masks = [getattr(m, f"{name}_mask", ones_like(v)) for (m, name), v in zip(pairs, values, strict=True)]
    method._tensor_name = "temp"
    together = parameters_to_vector([scores.get(pair, v) for pair, v in zip(pairs, values, strict=True)])
    mask = PruningContainer(method).compute_mask(together, parameters_to_vector(masks))
    for (module, name), part, value in zip(pairs, mask.split([v.numel() for v in values]), values, strict=True):
        custom_from_mask(module, name, part.view_as(value))


def remove(module: M, name: str) -> M:
    """Make a pruned parameter an ordinary one again, keeping its zeros. Raises ValueError if it is not pruned."""
    hook = _hook(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook[1].remove(module)
    del module._forward_pre_hooks[hook[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether any parameter in the module or its submodules is pruned."""
    hooks = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


def _hook(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    hooks = ((key, hook) for key, hook in module._forward_pre_hooks.items() if isinstance(hook, BasePruningMethod))
    return next((pair for pair in hooks if pair[1]._tensor_name == name), None)
