"""Every name that two or more of the scanned programs use is provided, with the keywords that they pass."""

import importlib
import importlib.util
import inspect
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import minigrad as mg
from minigrad import compat
from minigrad.compat import absent, names
from minigrad.extension import MissingName
from tests.ecosystem import names as libraries
from tests.support.cases import cases, raises

ROOT = Path(__file__).parents[2]


def load_generator() -> ModuleType:
    """docs/generate_pytorch.py, which reads the table of names."""
    spec = importlib.util.spec_from_file_location("generate_pytorch", ROOT / "docs" / "generate_pytorch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generator: Any = load_generator()
TABLE = generator.read_names()
NOT_PROMISED = ("cuda.Stream", "cuda.stream", "jit.", "onnx.", "_dynamo.", "float8", "sparse", "_scaled_mm")
OF_OTHERS = {"Tensor.values"}  # named tuples have it: test_named_tuples
COMMON = [name for name in TABLE if name.programs >= 2 and name.path not in OF_OTHERS]
COMMON = [name for name in COMMON if not name.path.startswith(NOT_PROMISED)]


def saved() -> io.BytesIO:
    """A file with a number."""
    file = io.BytesIO()
    mg.save({"a": 1}, file)
    file.seek(0)
    return file


# Functions that accept any keyword: every keyword that programs pass to them.
CALLS: dict[str, Callable[[], Any]] = {
    "zeros": lambda: mg.zeros(size=(2, 3), device="cpu", dtype=mg.float64),
    "ones": lambda: mg.ones(size=(2, 3), device="cpu", dtype=mg.float64),
    "empty": lambda: mg.empty(2, 3, device="cpu", dtype=mg.float64, pin_memory=False),
    "randint": lambda: mg.randint(low=0, high=9, size=(2, 3), dtype=mg.int32),
    "randn": lambda: mg.randn(2, 3, device="cpu", requires_grad=True),
    "rand": lambda: mg.rand(2, 3, device="cpu", dtype=mg.float64),
    "nn.GRU": lambda: mg.nn.GRU(3, 2, bidirectional=True),
    "nn.LSTM": lambda: mg.nn.LSTM(input_size=3, hidden_size=2, dropout=0.0, bidirectional=True),
    "load": lambda: mg.load(saved(), map_location="cpu", weights_only=True),
}


@cases("name", COMMON)
def test_a_common_name_is_provided_with_its_keywords(name: Any) -> None:
    function = generator.lookup(name.path)
    if not name.keywords:
        return
    unknown = generator.unknown_keywords(name)
    if unknown and name.path in CALLS:
        unknown = []
    assert not unknown, f"torch.{name.path} does not take {unknown}: {inspect.signature(function)}"
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        assert name.path in CALLS, f"torch.{name.path} takes any keyword: pass {name.keywords} in CALLS"
        CALLS[name.path]()


def test_a_missing_keyword_is_noticed() -> None:
    name = generator.Name("", "arange", 9, ("device", "nonesuch"), "")
    assert generator.unknown_keywords(name) == ["nonesuch"]
    assert not generator.is_provided("nn.functional.nonesuch") and generator.is_provided("nn.Module.training")


def test_named_tuples_have_values() -> None:
    x = mg.tensor([[1.0, 3.0], [4.0, 2.0]])
    for result in (x.max(0), x.max(dim=1), x.sort(), x.topk(1)):
        assert result.values is result[0]


def test_the_page_is_up_to_date() -> None:
    is_new = generator.PAGE.read_text(encoding="utf-8") == generator.write_page(TABLE)
    assert is_new, "docs/pytorch.md is out of date: python docs/generate_pytorch.py"


@cases("path", sorted(names.MODULES))
def test_a_path_in_the_table_can_be_imported(path: str) -> None:
    sources = names.MODULES[path]
    for source in [sources] if isinstance(sources, str) else sources:
        names.resolve(source)
    assert isinstance(importlib.import_module(f"minigrad.{path}"), ModuleType)
    assert not (ROOT / "minigrad" / path.replace(".", "/")).with_suffix(".py").exists(), "a file of that name"


def test_importing_a_path_replaces_nothing() -> None:
    """`import` sets a module as its parent's attribute, which must not replace an existing one."""
    program = """
import importlib
from minigrad.compat import names
for path in names.MODULES:
    parent, _, name = f"minigrad.{path}".rpartition(".")
    before = vars(importlib.import_module(parent)).get(name)
    after = importlib.import_module(f"minigrad.{path}")
    if before is not None and before is not after:
        print(f"minigrad.{path} replaced {before!r}")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, text=True, capture_output=True)
    assert ran.stdout == ""


def test_a_function_keeps_its_name_when_a_module_of_that_name_is_imported() -> None:
    for name in ("weight_norm", "spectral_norm"):
        module = importlib.import_module(f"minigrad.nn.utils.{name}")
        assert getattr(mg.nn.utils, name) is getattr(module, name)


@cases("place, name", [(place, name) for place, row in names.NAMES.items() for name in row])
def test_a_name_in_the_table_resolves(place: str, name: str) -> None:
    module = importlib.import_module(f"minigrad.{place}".rstrip("."))
    is_module_too = f"{place}.{name}" in names.MODULES  # importing it sets the table's value
    assert is_module_too or name not in vars(module), "it is there without the table"
    assert getattr(module, name) is names.resolve(names.NAMES[place][name])
    assert name in dir(names.AliasModule("minigrad.x", (place,))) or name in names.others(module.__name__)


@cases("path", sorted(absent.ABSENT))
def test_absent_names_can_be_imported_and_give_a_reason_when_used(path: str) -> None:
    path = path.replace("*", "zzz")
    *parents, name = path.split(".")
    place = ".".join(["minigrad", *parents])
    text = f"minigrad has no torch.{path}: {absent.instead(path)}"
    assert names.missing(place, name) == text
    if parents == ["Tensor"]:  # programs check whether a tensor has an attribute
        return
    module = importlib.import_module(place)
    stands = getattr(module, name, None) or importlib.import_module(f"{place}.{name}")
    assert text in repr(stands) and not isinstance(3, type(stands))
    with pytest.raises(NotImplementedError) as error:
        stands()
    assert str(error.value) == text
    raises(NotImplementedError, None, lambda: stands.further("x"))


def test_absent_classes_work_in_annotations_and_as_base_classes() -> None:
    stream: Any = getattr(mg.cuda, "Stream")  # noqa: B009 (no checker knows it)
    assert (stream | None).__args__ == (stream, type(None)) and not isinstance(mg.zeros(1), stream)
    assert stream[int] is stream

    class Mine(stream):  # type: ignore[misc]
        pass

    raises(NotImplementedError, r"no torch\.cuda\.Stream", Mine)


# The message for a missing name -----------------------------------------------------------------


NEAREST = [("nn.functional.sofmax", "nn.functional.softmax"), ("nn.Lineer", "nn.Linear"), ("nn.softmax", "nn.Softmax")]
NEAREST += [("nn.one_hot", "nn.functional.one_hot"), ("optim.adamw_", "optim.adamw"), ("xyzzy", "")]
NEAREST += [("amp.GradScalar", "amp.GradScaler"), ("backends.cudnn.nonesuch", "")]


@cases("path, near", NEAREST)
def test_a_missing_name_raises_an_error(path: str, near: str) -> None:
    check_missing(path, f"there is no minigrad.{path}{near and f'; did you mean minigrad.{near}?'}")
    with compat.as_torch(replace=True):
        check_missing(path, f"minigrad has no torch.{path}{near and f'; did you mean torch.{near}?'}")


def test_a_missing_tensor_method_has_a_reason() -> None:
    assert not hasattr(mg.zeros(1), "to_sparse")
    with pytest.raises(AttributeError, match=r"^minigrad has no torch\.Tensor\.to_sparse: there are no sparse tensors"):
        mg.zeros(1).to_sparse()  # type: ignore[attr-defined]
    text = r"^there is no minigrad\.Tensor\.sofmax; did you mean minigrad\.Tensor\.softmax\?$"
    raises(AttributeError, text, lambda: mg.zeros(1).sofmax(0))  # type: ignore[attr-defined]


def check_missing(path: str, text: str) -> None:
    """Check the message from getattr, and from two forms of import."""
    *parents, name = path.split(".")
    module = importlib.import_module(".".join(["minigrad", *parents]))
    assert not hasattr(module, name)
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == text
    with pytest.raises(ImportError) as refused:
        exec(f"from {'.'.join(['minigrad', *parents])} import {name}", {})
    assert str(refused.value) == text
    with pytest.raises(ModuleNotFoundError) as not_found:
        importlib.import_module(f"minigrad.{path}")
    assert str(not_found.value) == text


def test_checking_for_a_name_builds_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "missing", lambda *args: pytest.fail("nobody reads it"))
    assert not hasattr(mg.nn, "Lineer") and getattr(mg, "xyzzy", None) is None


def test_missing_private_names_raise_missing_name() -> None:
    with pytest.raises(MissingName):
        mg.nn.__wrapped__  # type: ignore[attr-defined]


def test_the_one_module_with_underscores_around_its_name() -> None:
    assert "USE_MKL=OFF" not in mg.__config__.show()  # type: ignore[attr-defined]
    assert isinstance(importlib.import_module("minigrad.__config__").parallel_info(), str)


def test_remote_calls_are_absent_as_in_a_build_of_pytorch_without_them() -> None:
    rpc = mg.distributed.rpc  # type: ignore[attr-defined]
    assert rpc is importlib.import_module("minigrad.distributed.rpc") and rpc.is_available() is False
    assert not hasattr(rpc, "api")
    raises(NotImplementedError, "ranks cannot call each other's functions", lambda: rpc.rpc_sync("worker", print))


def test_a_missing_module() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^there is no minigrad\.viz\.nonesuch$"):
        importlib.import_module("minigrad.viz.nonesuch")
    text = r"^there is no minigrad\.nn\.modules_; did you mean minigrad\.nn\.modules\?$"
    raises(ModuleNotFoundError, text, lambda: importlib.import_module("minigrad.nn.modules_"))
    assert importlib.util.find_spec("minigrad.nn.modules_") is None
    assert importlib.util.find_spec("minigrad.nn.modules") is not None
    text = r"^there is no minigrad\.distributions\.transforms\.nonesuch$"  # its file is in another folder
    raises(ModuleNotFoundError, text, lambda: importlib.import_module("minigrad.distributions.transforms.nonesuch"))


def test_the_names_that_a_program_uses() -> None:
    program = "import torch.nn as nn, torch\nfrom torch import optim as o\nnn.Linear(1, 1)\no.Adam\ntorch.func.vmap(f)"
    uses = {"torch.nn", "torch", "torch.optim", "torch.nn.Linear", "torch.optim.Adam", "torch.func.vmap", "torch.func"}
    assert set(libraries.used(program)) == uses


def test_every_name_that_a_library_in_the_table_uses_exists() -> None:
    listed = libraries.FILE.read_text(encoding="utf-8").split()
    assert len(listed) > 1_500
    assert not libraries.is_there("torch.no_such_name")
    assert not [name for name in listed if not libraries.is_there(name)]
