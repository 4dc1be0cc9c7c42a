"""A model's own source, run by PyTorch: its imports of minigrad's names that PyTorch has become PyTorch's."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

THEIRS = {"minigrad": "torch", "minigrad.nn": "torch.nn", "minigrad.nn.utils.rnn": "torch.nn.utils.rnn"}
PACKAGE = "models_in_torch"
TWINS = ("causal", "generation", "layers", "pretrained", "relative", "transformer", "translation")  # of other models


def in_torch(name: str) -> ModuleType:
    """The file ``models/NAME.py`` with PyTorch in minigrad's place, and the models that it rests on likewise. Without
    PyTorch the test is skipped."""
    pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    full = f"{PACKAGE}.{name}"
    if full not in sys.modules:
        source = import_module(f"minigrad.models.{name}").__file__
        assert source is not None
        tree = _Replaced().visit(ast.parse(Path(source).read_text(encoding="utf-8")))
        module = sys.modules[full] = ModuleType(full)
        exec(compile(ast.fix_missing_locations(tree), source, "exec"), vars(module))
    return sys.modules[full]


class _Replaced(ast.NodeTransformer):
    """Imports of PyTorch's names, and of twins of other models; decoding stays minigrad's."""

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            alias.name = THEIRS.get(alias.name, alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.level and node.module in TWINS:
            return ast.ImportFrom(in_torch(node.module).__name__, node.names, 0)
        if node.level:
            return ast.ImportFrom(f"minigrad.models.{node.module}" if node.module else "minigrad.models", node.names, 0)
        return ast.ImportFrom(THEIRS.get(str(node.module), str(node.module)), node.names, 0)
