"""Transforms of functions, by the names of ``torch.func``: derivatives, and maps over a batch.

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)

They nest; arguments and results are tensors in tuples, lists and dicts. ``vmap`` is a loop: it has the numbers of a
batched run, not its time.
"""

from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .mapping import stack_module_state, vmap
from .stateless import functional_call

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize"]
__all__ += ["stack_module_state", "vjp", "vmap"]
