"""The mark of tests that need Graphviz."""

import shutil
from importlib.util import find_spec

import pytest

HAS_DOT = shutil.which("dot") is not None and find_spec("graphviz") is not None
needs_dot = pytest.mark.skipif(
    not HAS_DOT, reason="Graphviz: its program dot (apt install graphviz), and the extra viz"
)
