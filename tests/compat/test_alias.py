"""`import torch` imports minigrad: after a call, within a `with`, and in a program run by `minigrad compat`."""

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import minigrad
from minigrad.compat import as_torch
from minigrad_models.commands.minigrad_command import main
from tests.support.cases import cases, raises

ROOT = Path(__file__).parents[2]


def python(*args: str, cwd: Path | None = None, expect: int = 0) -> str:
    """The output of a new Python process, errors last."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
    environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, *args], check=False, capture_output=True, text=True, env=environment, cwd=cwd)
    assert ran.returncode == expect, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def torch_modules() -> dict[str, ModuleType]:
    """The modules named torch."""
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}


# The context ----------------------------------------------------------------------------------------------


def test_within_the_context_torch_is_minigrad_and_nothing_is_loaded_twice() -> None:
    before, ours = torch_modules(), {name for name in sys.modules if name.startswith("minigrad")}
    with as_torch(replace=True) as alias:
        import torch
        import torch.backends.cudnn as cudnn
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.nn.modules.activation import MultiheadAttention
        from torch.nn.parallel.data_parallel import DataParallel
        from torch.nn.parallel.replicate import replicate
        from torch.optim import AdamW
        from torch.optim.lr_scheduler import LambdaLR

        assert alias is torch is minigrad and nn is minigrad.nn and F is minigrad.nn.functional
        assert MultiheadAttention is minigrad.nn.MultiheadAttention and AdamW is minigrad.optim.AdamW
        assert LambdaLR is minigrad.optim.lr_scheduler.LambdaLR
        assert DataParallel is minigrad.nn.parallel.DataParallel and torch.__name__ == "torch"
        assert minigrad.nn.parallel.replicate is replicate and callable(minigrad.nn.parallel.data_parallel)
        cudnn.deterministic = True
        assert torch.backends.cudnn.deterministic
        cudnn.deterministic = False
        assert isinstance(nn.Linear(2, 2).weight, torch.Tensor)
    assert torch_modules() == before and ours <= set(sys.modules) and minigrad.__name__ == "minigrad"


def test_the_context_restores_an_earlier_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in torch_modules():
        monkeypatch.delitem(sys.modules, name)
    real, part = ModuleType("torch"), ModuleType("torch.part")
    monkeypatch.setitem(sys.modules, "torch", real)
    monkeypatch.setitem(sys.modules, "torch.part", part)
    raises(RuntimeError, r"already imported.*replace=True", as_torch)
    assert torch_modules() == {"torch": real, "torch.part": part}
    with pytest.raises(KeyError), as_torch(replace=True):
        assert importlib.import_module("torch") is minigrad
        with as_torch():
            assert importlib.import_module("torch.nn") is minigrad.nn
        assert "torch.nn" not in sys.modules and importlib.import_module("torch") is minigrad
        raise KeyError
    assert torch_modules() == {"torch": real, "torch.part": part}


def test_an_alias_looks_in_its_module_and_then_in_the_package() -> None:
    from minigrad.nn.modules import transformer

    assert transformer.TransformerEncoderLayer is minigrad.nn.TransformerEncoderLayer
    assert transformer.ModuleList is minigrad.nn.ModuleList  # PyTorch's file imports it, and programs use it
    assert minigrad.nn.modules.Linear is minigrad.nn.Linear and "Linear" in transformer.__all__
    assert "TransformerEncoderLayer" in dir(transformer)
    scope: dict[str, object] = {}
    exec("from minigrad.nn.modules.linear import *", scope)
    assert scope["Linear"] is minigrad.nn.Linear


def test_a_call_or_an_open_context_lasts_and_leaves_an_installed_torch_untouched(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the other torch was imported')")
    program = """
import sys; sys.path.insert(0, '.')
from minigrad.compat import as_torch
as_torch(); as_torch()
import torch, minigrad
from torch.utils.data import DataLoader
assert torch is minigrad
print(DataLoader.__module__)
"""
    assert python("-c", program, cwd=tmp_path).startswith("minigrad.utils.data")
    entered = "from minigrad.compat import as_torch\nas_torch().__enter__()\nimport torch\nprint(torch.float32)"
    assert python("-c", entered, cwd=tmp_path) == "torch.float32\n"


def test_without_as_torch_paths_are_imported_and_tools_see_the_packages_folders() -> None:
    """``import minigrad`` loads no layer above minigrad and keeps Python's imports; a package's path, an alias
    below it, a submodule as an attribute, other packages; the questions that tools ask a package's loader."""
    program = """
import sys, numpy
before = list(sys.meta_path), list(sys.path_hooks)
import minigrad
assert not [name for name in sys.modules if "minigrad.compat" in name]
assert (sys.meta_path, sys.path_hooks) == before

import importlib
import minigrad.nn.modules.transformer as by_path
import minigrad as torch
from minigrad.cuda.amp import autocast
assert by_path.TransformerEncoderLayer is torch.nn.TransformerEncoderLayer
assert torch.nn.modules.linear.Linear is torch.nn.Linear and torch.cuda.amp.autocast is autocast
assert torch.nn.utils.rnn is sys.modules["minigrad.nn.utils.rnn"]
importlib.invalidate_caches()
from minigrad.optim.adamw import AdamW
assert AdamW is torch.optim.AdamW

import pkgutil, os
assert minigrad.__path__ == [os.path.dirname(minigrad.__file__)]
assert {"nn", "tensor"} <= {module.name for module in pkgutil.iter_modules(minigrad.__path__)}
assert pkgutil.get_data("minigrad", "py.typed") is not None
assert minigrad.nn.__spec__.loader.get_source("minigrad.nn").startswith('\"\"\"')
sys.path.insert(0, minigrad.__path__[0])
import extension
assert extension is not minigrad.extension and extension.NO_FOLDER
"""
    assert python("-c", program) == ""


def test_the_package_loads_without_its_finder_and_may_be_assigned_to_sys_modules() -> None:
    program = """
import sys
import minigrad
sys.modules["torch"] = minigrad
import torch.nn as nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR
assert nn is minigrad.nn and F is minigrad.nn.functional and LambdaLR is minigrad.optim.lr_scheduler.LambdaLR

sys.path_importer_cache.clear()
import minigrad.nn.utils.rnn, minigrad.serialization
assert minigrad.nn.Linear(1, 1).weight.shape == (1, 1)
"""
    assert python("-c", program) == ""


# Packages imported in a `with` ------------------------------------------------------------------------------

LIBRARY = {
    "library/__init__.py": """
import importlib
import torch

def __getattr__(name):
    if name not in ("Net", "Other"):
        raise AttributeError(name)
    return getattr(importlib.import_module(f".{name.lower()}", __name__), name)
""",
    "library/net.py": """
import torch, torch.nn.functional as F
from torch import nn
from torch.nn.modules.linear import Linear
from further import kind

class Net(nn.Module):
    def forward(self, x):
        import torch.nn.utils.rnn
        from torch.nn import functional
        assert functional is F and kind() is torch.Tensor
        return torch.nn.utils.rnn.pad_sequence([F.relu(x)])
""",
    "library/other.py": """
import importlib.metadata, importlib.util

class Other:
    version, spec = importlib.metadata.version("torch"), importlib.util.find_spec("torch")
    torch = importlib.import_module("torch")
""",
    "further.py": """
def kind():
    import torch
    return torch.Tensor
""",
}
REAL = {"torch/__init__.py": "Tensor = 'the other one'\nnn = None", "torch/part.py": ""}


def in_a_folder(folder: Path, files: dict[str, str], program: str) -> str:
    """A program's output with these files in its folder, hiding any PyTorch that the machine has installed."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    hidden = "class NoTorch:\n    def find_spec(self, name, path=None, target=None):\n"
    hidden += "        if name == 'torch' and 'torch/part.py' not in FILES: raise ModuleNotFoundError(name=name)\n"
    begin = f"import sys; sys.path.insert(0, '.'); FILES = {sorted(files)}\n{hidden}"
    begin += "sys.meta_path.insert(0, NoTorch())\nfrom minigrad.compat import as_torch\nimport minigrad\n"
    return python("-c", begin + program, cwd=folder)


@pytest.mark.parametrize("real", [False, True])
def test_packages_imported_in_a_with_keep_minigrad_and_the_program_does_not(tmp_path: Path, real: bool) -> None:
    program = """
with as_torch():
    import library
assert "torch" not in sys.modules

from library import Net
assert Net()(minigrad.ones(2)).tolist() == [[1], [1]]
from library import Other
assert Other.version == minigrad.version.torch
assert Other.spec is not None and Other.torch is minigrad
try:
    import torch
    from torch import part
    print(torch.Tensor, part.__name__)
except ModuleNotFoundError as error:
    print(error.name)
assert Net()(minigrad.ones(2)).tolist() == [[1], [1]]  # each gets its own, however often they alternate
import importlib.util
try:
    import torch
    print(torch.Tensor, sys.modules["torch"] is torch)
except ModuleNotFoundError as error:
    print(importlib.util.find_spec("library") is not None)
with as_torch(replace=True) as torch:
    assert Net()(torch.ones(2)).tolist() == [[1], [1]]
    import torch as again
    assert again is minigrad
"""
    printed = in_a_folder(tmp_path, {**LIBRARY, **(REAL if real else {})}, program)
    assert printed == ("the other one torch.part\nthe other one True\n" if real else "torch\nTrue\n")


def test_a_with_affects_only_its_own_imports(tmp_path: Path) -> None:
    """Packages imported earlier keep their torch, other processes inherit nothing, and C code that reads
    ``sys.modules`` after ``__import__``, as ``PyImport_Import`` does, gets minigrad."""
    library = {"in_c.py": "import ctypes, torch\ndef load():\n    return IMPORT('torch')\n"}
    library["in_c.py"] += "IMPORT = ctypes.pythonapi.PyImport_Import\n"
    library["in_c.py"] += "IMPORT.restype, IMPORT.argtypes = ctypes.py_object, [ctypes.py_object]\n"
    program = """
import builtins, subprocess
before = builtins.__import__, list(sys.meta_path)
with as_torch() as torch:
    import torch.nn
    assert sys.meta_path != before[1]
assert (builtins.__import__, sys.meta_path) == before  # nothing was imported that keeps it

import further
with as_torch():
    import in_c, library
    library.Net
    ask = [sys.executable, "-c", "import torch; print(torch.Tensor)"]
    assert subprocess.run(ask, capture_output=True, text=True, check=True).stdout == "the other one\\n"
assert further.kind() == "the other one" and in_c.load() is minigrad
import torch
print(torch.Tensor, in_c.load() is minigrad)
"""
    assert in_a_folder(tmp_path, {**LIBRARY, **library, **REAL}, program) == "the other one True\n"


# importlib's answers about torch --------------------------------------------------------------------------


@pytest.mark.parametrize("real", [False, True])
def test_importlib_finds_torch_and_its_version_while_it_is_minigrad(tmp_path: Path, real: bool) -> None:
    files = {**REAL, "torch-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n"}
    program = """
import importlib.metadata as metadata, importlib.util as util

def state():
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        version = None
    try:
        return version, util.find_spec("torch") is not None
    except ModuleNotFoundError:
        return version, False

ours = str(minigrad.version.torch)
before = state()
with as_torch():
    with as_torch():
        assert state() == (ours, True)
    assert state() == (ours, True)
    about = metadata.distribution("torch")
    assert about.metadata["Name"] == "torch"
    assert str(about.locate_file("nn/__init__.py")) == minigrad.nn.__file__
    assert [d.version for d in metadata.distributions() if d.metadata["Name"] == "torch"][0] == ours
    assert metadata.version("numpy") == __import__("numpy").__version__
assert state() == before
as_torch()
as_torch()
with as_torch():
    assert state() == (ours, True)
assert state() == (ours, True)
print(before[1])
"""
    assert in_a_folder(tmp_path, files if real else {}, program) == f"{real}\n"


# Programs -------------------------------------------------------------------------------------------------

PROGRAM = """
import sys, pickle, io
import torch
import torch.nn as nn
from helper import SIZE

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(SIZE, SIZE)

if __name__ == "__main__":
    print(torch.nn.Module.__module__, sys.argv[1:], __file__)
    copy = pickle.loads(pickle.dumps(Net()))
    print(type(copy).__module__, list(copy.state_dict()))
    assert sys.modules["__main__"].Net is Net
    if "fail" in sys.argv:
        raise ValueError("on purpose")
    if "leave" in sys.argv:
        sys.exit(7)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    (folder / "helper.py").write_text("SIZE = 2")
    return folder / "train.py"


def test_a_program_or_module_runs_as_main_with_its_own_arguments(program: Path, tmp_path: Path) -> None:
    run = ["-m", "minigrad", "compat"]
    output = python(*run, str(program), "--lr", "1", "-m", "leave", cwd=tmp_path, expect=7)
    begin, copied = output.splitlines()
    assert begin == f"minigrad.nn.module ['--lr', '1', '-m', 'leave'] {program}"
    assert copied == "__main__ ['layer.weight', 'layer.bias']"
    program.write_text(PROGRAM.replace("from helper", "from .helper"))
    output = python(*run, "-m", "package.train", "x", cwd=tmp_path)
    assert output.startswith(f"minigrad.nn.module ['x'] {program}")
    program.rename(program.parent / "__main__.py")
    assert python(*run, "-m", "package", cwd=tmp_path).startswith("minigrad.nn.module []")


def test_a_traceback_begins_in_the_program(program: Path) -> None:
    output = python("-m", "minigrad", "compat", str(program), "fail", expect=1)
    trace = output[output.index("Traceback") :]
    assert trace.splitlines()[1].strip().startswith(f'File "{program}"')
    assert trace.strip().endswith("ValueError: on purpose") and "minigrad/compat" not in trace
    program.write_text("import torch\nx = (")
    assert "SyntaxError" in python("-m", "minigrad", "compat", str(program), expect=1)


WORDS = [(["--help"], "minigrad compat"), (["nonesuch.py"], "cannot read nonesuch.py")]
WORDS += [(["-m", "nonesuch"], "no module named nonesuch")]


@cases("words, text", WORDS)
def test_help_and_mistakes_on_the_command_line(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["compat", *words]))
    assert bool(ended.value.code) == (words != ["--help"]) and text in "".join(capsys.readouterr())


# Versions -------------------------------------------------------------------------------------------------


def test_the_version_is_pytorchs_only_while_minigrad_is_torch() -> None:
    program = """
import minigrad
assert minigrad.__version__ == minigrad.version.project
with minigrad.compat.as_torch() as torch:
    assert torch.__version__ == torch.version.torch == torch.version.__version__ == "2.13"
assert minigrad.__version__ == minigrad.version.project
"""
    assert python("-c", program) == ""


def test_programs_can_parse_the_version() -> None:
    version = minigrad.version.torch
    assert int(version.split(".")[0]) >= 2 and int(version[0]) == 2
    assert tuple(int(part) for part in version.split("+")[0].split(".")[:2]) >= (1, 8) and version >= "2.4"
    assert version > (2, 4) and version < "10.0" and version <= "2.13" and version == "2.13.0"
    assert version != "2.12" and version != "any" and version.endswith(minigrad.version.project)
    assert pickle.loads(pickle.dumps(version)) == version and hash(version) == hash(str(version))
    packaging = pytest.importorskip("packaging.version")
    assert packaging.parse(version) >= packaging.parse("2.0")


# Dropout's stream -----------------------------------------------------------------------------------------

DROPPED = """
import torch
import torch.nn.functional as F
torch.manual_seed(3)
print(F.dropout(torch.ones(8), 0.5).tolist())
"""
OWN = DROPPED.replace("import torch\n", "import minigrad as torch\n").replace("import torch.nn", "import minigrad.nn")
MASK = "[2.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0]"


def test_dropout_of_a_program_draws_from_pytorchs_stream(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(DROPPED)
    assert python("-m", "minigrad", "compat", str(program)).strip() == MASK


def test_a_context_ends_with_the_stream_before_it_unless_packages_keep_minigrad(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("import torch.nn.functional as F\ndrop = F.dropout\n")
    context = "from minigrad.compat import as_torch\nwith as_torch():\n    import {}\n"
    program = OWN + context.format("torch") + OWN + context.format("kept") + OWN
    before, between, after = python("-c", program, cwd=tmp_path).splitlines()
    assert before == between != after == MASK


def test_that_mask_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    assert str(torch.nn.functional.dropout(torch.ones(8), 0.5).tolist()) == MASK


def test_a_chosen_stream_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    last = f"from minigrad.compat import as_torch; as_torch()\n{DROPPED}"
    assert python("-c", f"import minigrad; minigrad.set_dropout_stream('fast')\n{last}").strip() != MASK
    monkeypatch.setenv("MINIGRAD_DROPOUT_STREAM", "fast")
    assert python("-c", last).strip() != MASK
