"""The package as a whole: what it imports, which way imports point, what the wheel holds, what has docs."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import minigrad
from minigrad.backend.deferred import Deferred
from minigrad.ops.approximations import gamma
from tests.support.cases import raises

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for top in ("minigrad", "examples") for path in (ROOT / top).rglob("*.py"))
LIBRARY = [path for path in SOURCES if path.is_relative_to(ROOT / "minigrad")]
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES}
ROOF = ROOT / "minigrad" / "__init__.py"
MOST_BYTES = 256 * 1024
MOST_LINES = 1200  # of a Python file; one idea seldom takes as many

# From the bottom up. A file imports from its own row and from those above it in this list, never from below.
LAYERS: list[set[str]] = [
    {
        "minigrad.backend",
        "minigrad.backend.deferred",
        "minigrad.extension",
        "minigrad.utils.showing",
        "minigrad.autograd.tracebacks",
        "minigrad.version",
    },
    {"minigrad.ops"},
    {"minigrad.autograd"},
    {"minigrad.autograd.handle", "minigrad.autograd.methods", "minigrad.backend.size"},
    {"minigrad.tensor"},
    {"minigrad.functions"},
    {"minigrad.fft", "minigrad.linalg", "minigrad.masked", "minigrad.functions.printing", "minigrad.signal", "minigrad.special"},
    {"minigrad.functions.spectrum"},
    {"minigrad.functions.names"},
    {"minigrad.cuda"},
    {"minigrad.distributed"},
    {"minigrad.run"},
    {"minigrad.nn"},
    {"minigrad.optim", "minigrad.distributions"},
    {"minigrad.serialization", "minigrad.utils", "minigrad_models.music", "minigrad_models.text", "minigrad_models.training"},
    {"minigrad.func", "minigrad.profiler"},
    {"minigrad.viz"},  # it times what it watches as a profile does
    {"minigrad.compat"},
    {"minigrad"},  # the roof: it imports all rooms, some of them when they are first used
    {"minigrad_models.architectures"},
    {"minigrad_models.programs"},
    {"minigrad_models.translation"},
    {"minigrad_models.commands"},
    {"minigrad.__main__"},
    {"examples"},
]
# Programs and what they are made of use the public names, as other people's do; the roof does not list them.
ABOVE = set().union(*LAYERS[LAYERS.index({"minigrad"}) + 1 :])
# (file, what it imports): why it may. One that is not needed any more fails the test.
EXCEPTIONS = {("minigrad/nn/__init__.py", "minigrad.compat"): "the types of names that compat supplies"}

IMPORT_ALL = """
import importlib, pkgutil, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("minigrad", "numpy", "safetensors"):
            raise ModuleNotFoundError(f"{name} is blocked: {blame}", name=name)

sys.meta_path.insert(0, Block())
sys.path.insert(0, sys.argv[1])
failed = []
blame = "minigrad"
import minigrad
loaded = sorted(name for name in sys.modules if name.startswith("minigrad."))
for module in pkgutil.walk_packages(minigrad.__path__, "minigrad.", onerror=failed.append):
    blame = module.name
    try:
        if not module.name.endswith((".__main__", ".compiled.intrinsics")):  # what compiles is written in Numba
            importlib.import_module(module.name)
    except ImportError as error:
        failed.append(f"{module.name}: {error}")
print(*loaded)
sys.exit("\\n".join(failed) or 0)
"""


@cache
def import_everything() -> subprocess.CompletedProcess[str]:
    """Import minigrad, then each of its modules, other libraries blocked; prints what the first loads."""
    command = [sys.executable, "-c", IMPORT_ALL, str(ROOT)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_every_module_imports_with_numpy_and_safetensors_alone() -> None:
    ran = import_everything()
    assert ran.returncode == 0, f"import other libraries where they are used, not at the top:\n{ran.stderr}"


def test_import_minigrad_leaves_out_what_not_every_program_needs() -> None:
    loaded = set(import_everything().stdout.split())
    assert {"minigrad.tensor", "minigrad.ops.elementwise"} <= loaded
    lazy = ("music", "text", "training", "viz", "profiler", "backend.cuda", "backend.kernels._launch", "fft")
    lazy += ("ops.approximations.bessel", "ops.decompositions", "ops.convolution")
    early = [name for name in loaded if name.startswith(tuple(f"minigrad.{part}" for part in lazy))]
    assert not early, f"import minigrad loads {early}"


def test_a_deferred_module_is_loaded_when_it_is_first_needed() -> None:
    module = Deferred("minigrad.ops.approximations.gamma")
    assert module.log_gamma is gamma.log_gamma
    raises(AttributeError, r"approximations\.gamma.*nothing", lambda: module.nothing)


def test_public_names_are_public_for_type_checkers_too() -> None:
    """A package with py.typed exports what stands in ``__all__``: all else is private to mypy and pyright."""
    helpers = {"annotations", "import_module", "Any", "ModuleType", "TYPE_CHECKING"}
    found = {name for name, value in vars(minigrad).items() if not isinstance(value, ModuleType)}
    missing = {name for name in found - helpers - set(minigrad.__all__) if not name.startswith("_")}
    assert not missing, f"not in minigrad.__all__: {sorted(missing)}"
    assert all(hasattr(minigrad, name) for name in minigrad.__all__)


def test_imports_only_point_down() -> None:
    wrong = []
    for path in SOURCES:
        place, own = path.relative_to(ROOT).as_posix(), level(unit(module_name(path)))
        upward = {target for target in map(unit, imports(path)) if level(target) > own}
        allowed = {target for file, target in EXCEPTIONS if file == place}
        wrong += [f"{place} imports from {target}, which stands above it" for target in upward - allowed]
        wrong += [f"{place} does not import {t}: take it out of EXCEPTIONS" for t in allowed - upward]
    assert not wrong, "\n".join(wrong)


def test_the_roof_names_only_rooms_below_it() -> None:
    assert not {f"minigrad.{name}" for name in minigrad._LAZY} & ABOVE


def level(name: str) -> int:
    """The row of a unit in LAYERS."""
    found = [row for row, names in enumerate(LAYERS) if name in names]
    assert found, f"{name} has no place in the house yet: enter it in LAYERS of {__file__}"
    return found[0]


def unit(module: str) -> str:
    """What LAYERS calls the part that a module belongs to: minigrad.nn.functional is in minigrad.nn."""
    top, *rest = module.split(".")
    return f"{top}.{rest[0]}" if top == "minigrad" and rest else top


def module_name(path: Path) -> str:
    """minigrad/nn/__init__.py is minigrad.nn."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> list[str]:
    """The modules of this repository that a file imports anywhere, also by a name made at run time."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
            source = ".".join(base) if node.level else str(node.module)
            for alias in node.names:
                if is_ours(source):
                    yield f"{source}.{alias.name}" if is_module(f"{source}.{alias.name}") else source
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "Deferred")):
            wanted = pattern(node.args[0], path)
            if not wanted.startswith("*"):  # else a library that is an extra, or what a program has named
                rooms = {name for name in MODULES if fnmatchcase(name, wanted)}
                yield from (name for name in rooms if path != ROOF or unit(name) not in ABOVE)


def pattern(name: ast.expr, path: Path) -> str:
    """The name that ``import_module`` is called with, * standing for what is known at run time alone."""
    known = {"__name__": module_name(path), "__package__": ".".join(path.relative_to(ROOT).parent.parts)}
    known["_PACKAGE"] = known["__name__"].partition(".")[0]
    if isinstance(name, ast.Constant):
        return str(name.value)
    if isinstance(name, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.FormattedValue) else part for part in name.values)
        return "".join(pattern(part, path) for part in parts)
    return known.get(ast.unparse(name), "*")


def test_no_two_files_import_each_other() -> None:
    """Neither directly nor through others, nor by a name that is made at run time, nor for type checkers alone, in a
    file or in its stub."""
    graph: dict[str, set[str]] = {}
    for path in [*LIBRARY, *(ROOT / "minigrad").rglob("*.pyi")]:
        graph.setdefault(module_name(path), set()).update(m for m in imports(path) if m in MODULES)
    TopologicalSorter(graph).prepare()  # or CycleError


def is_ours(module: str) -> bool:
    """Whether a module lies in the house."""
    return module.partition(".")[0] in ("minigrad", "examples")


@cache
def is_module(name: str) -> bool:
    """Whether a dotted name is a file or folder of the repository."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.fixture
def wheel(tmp_path: Path) -> list[str]:
    """The names of the files in the wheel. setuptools builds it from a copy, without pip and network."""
    # The version is read, not imported: setuptools refuses to be where distutils came first.
    if not importlib.util.find_spec("setuptools") or int(metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("setuptools 77 or later builds the wheel")
    copy = tmp_path / "minigrad"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("minigrad", "examples", "tests", "docs", "benchmarks"):
        if (ROOT / folder).exists():
            shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    for file in ("pyproject.toml", "README.md", "LICENSE", "tasks.py"):
        shutil.copy(ROOT / file, copy / file)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    ran = subprocess.run([sys.executable, "-c", build], cwd=copy, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with zipfile.ZipFile(next((copy / "dist").glob("*.whl"))) as archive:
        return archive.namelist()


def test_the_wheel_holds_every_file_of_minigrad_alone(wheel: list[str]) -> None:
    """Also what is not Python: CUDA sources, py.typed, data. A new kind of file belongs in pyproject.toml."""
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "minigrad").rglob("*") if path.is_file()}
    wanted = {name for name in files if "/__pycache__/" not in name and "/." not in name}
    assert "minigrad/py.typed" in wanted
    assert not wanted - set(wheel)
    tops = {name.split("/")[0] for name in wheel}
    assert all(top == "minigrad" or top.endswith(".dist-info") for top in tops), tops


def test_dependencies_are_numpy_and_safetensors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = sorted(requirement.split(">")[0] for requirement in project["dependencies"])
    assert names == ["numpy", "safetensors"]
    assert "torch" not in str(project["optional-dependencies"]), "PyTorch is large: no extra may ask for it"


def repository_files() -> list[Path]:
    """The files that git knows or would take in."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: there is no list of files")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_is_large() -> None:
    sizes = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in repository_files()}
    large = {name: size for name, size in sizes.items() if size > MOST_BYTES}
    assert not large, f"data and weights do not belong in the repository: {large}"


def test_a_file_is_one_idea() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    long = {path.relative_to(ROOT).as_posix(): count for path, count in lines.items() if count > MOST_LINES}
    assert not long, f"so many lines: more than one idea? {long}"


def test_everything_public_has_a_docstring() -> None:
    without = []
    for path in LIBRARY:
        tree, place = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        inherited = ("forward", "backward") if path.parent.name == "kernels" else ()  # by backend.Kernel, for all
        without += [
            f"{place}:{node.lineno}: {node.name}"
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and node.name not in inherited
            and not any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)
            and not ast.get_docstring(node)
        ]
        without += [str(place)] if tree.body and not ast.get_docstring(tree) else []
    assert not without, "no docstring:\n" + "\n".join(without)


ENGINE = [ROOT / "minigrad" / name for name in ("ops/op.py", "autograd/tape.py", "autograd/walk.py")]
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.comprehension, ast.Assert, ast.match_case)


def branch_points(function: ast.AST) -> int:
    """How often a function may go one way or another."""
    inside = list(ast.walk(function))
    operators = sum(len(node.values) - 1 for node in inside if isinstance(node, ast.BoolOp))
    return operators + sum(isinstance(node, BRANCHES) for node in inside)


def test_the_engine_is_small_and_is_the_engine_alone() -> None:
    texts = [path.read_text(encoding="utf-8") for path in ENGINE]
    assert sum(len(text.splitlines()) for text in texts) <= 1000
    for path, text in zip(ENGINE, texts, strict=True):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert branch_points(node) <= 12, f"{path.name}: {node.name} has {branch_points(node)} branch points"
        for word in ("complex", "profil", "viz", "deferred", "pytorch", "torch"):
            assert word not in text.lower(), f"{path.name} speaks of {word}"
