"""A model's source, run by PyTorch: imports of minigrad names that PyTorch also has are redirected to PyTorch."""

import ast
import sys
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

import pytest

THEIRS = {"minigrad": "torch", "minigrad.nn": "torch.nn", "minigrad.nn.utils.rnn": "torch.nn.utils.rnn"}
PACKAGE = "models_in_torch"
FILES = {  # the files of models, and of their shared parts
    name: f"{folder}.{name}"
    for folder, names in {
        "examples.autoencoder": "network",
        "examples.digits": "classifiers",
        "minigrad_models.architectures": "layers pretrained",
        "minigrad_models.generation": "continuation generate",
        "minigrad_models.translation": "transformer seq2seq conv_seq2seq encoder_decoder",
        "minigrad_models.gpt": "gpt2 transformer_xl",
        "minigrad_models.bert": "bert",
        "minigrad_models.music": "music_transformer",
    }.items()
    for name in names.split()
}
TWINS = ("continuation", "generate", "layers", "pretrained", "transformer", "encoder_decoder")  # parts of other models


def in_torch(name: str) -> ModuleType:
    """The module of a model, and of the models that it uses, with PyTorch in minigrad's place. Skips the test without
    PyTorch."""
    pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    full = f"{PACKAGE}.{name}"
    if full not in sys.modules:
        source = import_module(FILES[name]).__file__
        assert source is not None
        replaced = _Replaced(FILES[name].rpartition(".")[0])
        tree = replaced.visit(ast.parse(Path(source).read_text(encoding="utf-8")))
        module = sys.modules[full] = ModuleType(full)
        exec(compile(ast.fix_missing_locations(tree), source, "exec"), vars(module))
    return sys.modules[full]


class _Replaced(ast.NodeTransformer):
    """Redirects imports to PyTorch, and to twins of other models; decoding stays minigrad's."""

    def __init__(self, package: str) -> None:
        self.package = package

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            alias.name = THEIRS.get(alias.name, alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if not node.level:
            return ast.ImportFrom(THEIRS.get(str(node.module), str(node.module)), node.names, 0)
        name = resolve_name("." * node.level + (node.module or ""), self.package)
        twin = name.rpartition(".")[2]
        if twin in TWINS and name == FILES[twin]:
            name = in_torch(twin).__name__
        return ast.ImportFrom(name, node.names, 0)
