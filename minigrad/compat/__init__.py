"""Entry points for PyTorch programs (``as_torch``, ``minigrad compat``), alternative names, no-ops and missing names.

This is the package's top layer. ``extension.py`` looks here for names that the package lacks. ``names.py`` contains the
table of alternative names and paths, including those of no-ops (``no_ops.py``). ``absent.py`` contains the table of
missing names and their replacements.
"""

from .alias import as_torch
from .backward_hooks import Border
from .names import add_methods, find, has_module, load, missing, others
from .nodes import inputs_of, node_name, of_node
from .overrides import asking, default, disabled, met

__all__ = ["as_torch"]
