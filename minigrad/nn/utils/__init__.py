"""Helpers for parameters and sequences, under PyTorch's names."""

from typing import TYPE_CHECKING

from ..init import skip_init
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

if TYPE_CHECKING:  # PyTorch's other names are in ``compat``
    from ...compat.nn.utils import parametrizations as parametrizations, parametrize as parametrize
    from ...compat.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
    from ...compat.nn.utils.weight_norm import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
__all__ += ["parameters_to_vector", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm"]
__all__ += ["vector_to_parameters", "weight_norm"]
