"""Weight normalisation and spectral normalisation by a hook that computes a weight before each forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ....autograd import no_grad
from ....autograd.tracebacks import border_functions, warn
from ....functions.reduction import norm
from ....nn.functional.normalization import normalize
from ....nn.module import Module
from ....nn.parameter import Parameter, is_lazy
from ....tensor import Tensor

M = TypeVar("M", bound=Module)


class WeightHook:
    """The base class of WeightNorm and SpectralNorm, forward pre-hooks that compute the parameter ``name``."""

    kind: ClassVar[str]  # the hook's name in messages
    suffixes: ClassVar[tuple[str, ...]]  # suffixes of the names of the tensors that replace the parameter

    name: str
    split: Callable[..., None]  # (module, weight): register the tensors from which the weight is computed
    compute: Callable[..., Tensor]  # (training, *tensors) -> the current weight

    def compute_weight(self, module: Module, training: bool = False) -> Tensor:
        return self.compute(training, *(getattr(module, self.name + suffix) for suffix in self.suffixes))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def attach(self, module: M) -> M:
        """Replace the parameter. Raises RuntimeError if it has already been replaced, and ValueError if it is None."""
        if self._find(module, self.name) is not None:
            raise RuntimeError(f"Cannot register two {self.kind} hooks on the same parameter {self.name}")
        if is_lazy(module._parameters[self.name]):
            raise ValueError(f"{type(self).__name__} can't have uninitialized parameters: call the module first")
        weight = module._parameters.pop(self.name)
        if weight is None:
            raise ValueError(f"{module._get_name()}: the parameter {self.name!r} is None")
        self.split(module, weight)
        module.register_forward_pre_hook(self)
        return module

    @classmethod
    def detach(cls, module: M, name: str) -> M:
        """Make the computed weight an ordinary parameter again. Raises ValueError if the hook is missing."""
        key = cls._find(module, name)
        if key is None:
            raise ValueError(f"{cls.kind} of '{name}' not found in {module}")
        hook: Any = module._forward_pre_hooks.pop(key)
        weight = hook.compute_weight(module).detach()
        for suffix in ("", *cls.suffixes):
            delattr(module, name + suffix)
        module.register_parameter(name, Parameter(weight))
        return module

    @classmethod
    def _find(cls, module: Module, name: str) -> int | None:
        hooks = module._forward_pre_hooks.items()
        return next((key for key, hook in hooks if isinstance(hook, cls) and hook.name == name), None)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm over all axes except ``dim``, which keep length 1. If ``dim`` is -1, the norm over all axes."""
    if dim == -1:
        return norm(v, pow)
    return norm(v, pow, dim=tuple(i for i in range(v.ndim) if i != dim), keepdim=True)


def weighted(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / ‖v‖ (Salimans and Kingma 2016), with a norm for each index of the axis ``dim``, or one norm if it is -1."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm(WeightHook):
    """The hook that computes the weight from ``name_g`` and ``name_v``."""

    kind, suffixes = "weight_norm", ("_g", "_v")

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute(self, training: bool, g: Tensor, v: Tensor) -> Tensor:
        return weighted(v, g, self.dim)

    def split(self, module: Module, weight: Parameter) -> None:
        module.register_parameter(f"{self.name}_g", Parameter(norm_except_dim(weight.detach(), 2, self.dim)))
        module.register_parameter(f"{self.name}_v", Parameter(weight.detach()))
        self(module, ())


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter with two. ``name_g`` contains a norm for each index of the axis ``dim`` (one norm if it is
    None), and ``name_v`` is the direction. Raises RuntimeError if the parameter has already been replaced."""
    warn("`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.", FutureWarning)
    return WeightNorm(name, dim).attach(module)


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Merge ``name_g`` and ``name_v`` into one parameter again. Raises ValueError if they do not exist."""
    return WeightNorm.detach(module, name)


@no_grad()
def new_vectors(weight: Tensor, dim: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return two random unit vectors: u for the axis ``dim`` of a weight, and v for all other axes."""
    matrix = weight.movedim(dim, 0).flatten(1)
    u, v = (normalize(matrix.new_zeros(length).normal_(0, 1), dim=0, eps=eps) for length in matrix.shape)
    return u, v


def normed(weight: Tensor, dim: int, u: Tensor, v: Tensor, times: int, eps: float, u_first: bool) -> Tensor:
    """Run ``times`` power iterations, which update u and v in place to approximate the leading singular vectors. Then
    divide the weight W, a matrix whose rows are slices along ``dim``, by uᵀ W v (Miyato et al. 2018)."""
    matrix = weight.movedim(dim, 0).flatten(1)
    steps = [(u, matrix, v), (v, matrix.t(), u)]
    with no_grad():
        for target, map, source in (steps if u_first else steps[::-1]) * times:
            target.copy_(normalize(map.mv(source), dim=0, eps=eps))
    return weight / u.clone().dot(matrix.mv(v.clone()))  # u and v may be modified later


def checked_dim(module: Module, dim: int | None, n_power_iterations: int) -> int:
    """``dim``, by default the output axis of the module's weight. Raises ValueError for fewer than one iteration."""
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    return int(type(module).__name__.startswith("ConvTranspose")) if dim is None else dim


class SpectralNorm(WeightHook):
    """The hook that computes the weight from ``name_orig`` and the vectors ``name_u`` and ``name_v``."""

    kind, suffixes = "spectral_norm", ("_orig", "_u", "_v")

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute(self, training: bool, weight: Tensor, u: Tensor, v: Tensor) -> Tensor:
        return normed(weight, self.dim, u, v, self.n_power_iterations if training else 0, self.eps, u_first=False)

    def split(self, module: Module, weight: Parameter) -> None:
        u, v = new_vectors(weight, self.dim, self.eps)
        module.register_parameter(f"{self.name}_orig", weight)
        setattr(module, self.name, weight.data)
        module.register_buffer(f"{self.name}_u", u)
        module.register_buffer(f"{self.name}_v", v)


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value, which is re-estimated in each forward pass during training.

    Args:
        n_power_iterations: the number of estimation steps. eps: the smallest norm to divide by.
        dim: the output axis; None means the layer's usual output axis.

    Raises RuntimeError if the parameter has already been replaced.
    """
    return SpectralNorm(name, n_power_iterations, checked_dim(module, dim, n_power_iterations), eps).attach(module)


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make a normalised weight an ordinary parameter again. Raises ValueError if it is not normalised."""
    return SpectralNorm.detach(module, name)


border_functions(globals())
