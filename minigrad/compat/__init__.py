"""PyTorch's ways in: ``as_torch`` and ``minigrad compat``, other spellings, no-ops and refusals.

It stands on top of the package, as the layer that ``extension.py`` asks for what is missing there. ``names.py`` is
the one table of names and paths that are another spelling of something, or do nothing (``no_ops.py``), and
``absent.py`` of what is not there, with what to use instead.
"""

from __future__ import annotations

from .alias import as_torch
from .backward_hooks import Border
from .names import add_methods, find, has_module, load, missing, others
from .nodes import inputs_of, node_name, of_node
from .overrides import asking, default, disabled, met

__all__ = ["as_torch"]
