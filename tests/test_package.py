"""The package as a whole: its imports and their direction, the files of the wheel, docstrings."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import minigrad
from minigrad.backend.deferred import Deferred
from minigrad.compat.ops import approximations
from tests.support.cases import raises

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for top in ("minigrad", "models", "examples") for path in (ROOT / top).rglob("*.py"))
LIBRARY = [path for path in SOURCES if path.is_relative_to(ROOT / "minigrad")]
MOST_BYTES = 256 * 1024
MOST_LINES = 1200  # of a Python file; one idea rarely needs as many

IMPORT_ALL = """
import importlib, pkgutil, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("minigrad", "numpy"):
            raise ModuleNotFoundError(f"{name} is blocked: {blame}", name=name)

sys.meta_path.insert(0, Block())
sys.path.insert(0, sys.argv[1])
failed = []
blame = "minigrad"
import minigrad
for module in pkgutil.walk_packages(minigrad.__path__, "minigrad.", onerror=failed.append):
    blame = module.name
    try:
        if not module.name.endswith((".__main__", ".compiled.intrinsics")):  # what compiles is written in Numba
            importlib.import_module(module.name)
    except ImportError as error:
        failed.append(f"{module.name}: {error}")
sys.exit("\\n".join(failed) or 0)
"""


def test_every_module_imports_with_only_numpy() -> None:
    """Import each module of minigrad while other libraries are blocked."""
    ran = subprocess.run([sys.executable, "-c", IMPORT_ALL, str(ROOT)], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, f"import other libraries where they are used, not at the top:\n{ran.stderr}"


def test_import_minigrad_skips_rarely_used_modules() -> None:
    program = "import sys, numpy; known = {*sys.modules}; import minigrad; print(*{*sys.modules} - known)"
    command = [sys.executable, "-c", program]
    loaded = set(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split())
    ours = {name for name in loaded if name.startswith("minigrad")}
    assert {"minigrad.tensor", "minigrad.ops.elementwise"} <= ours and len(ours) <= 76, sorted(ours)
    lazy = ("viz", "profiler", "compat", "distributed", "backend.cuda", "backend.kernels._launch", "ops.convolution")
    slow = (
        "copy dataclasses hashlib heapq importlib.util inspect ipaddress json pathlib random shutil subprocess "
        "tempfile threading zlib"
    )
    early = [name for name in ours if name.startswith(tuple(f"minigrad.{part}" for part in lazy))]
    assert not [*early, *loaded.intersection(slow.split())], "each costs time"


def test_a_deferred_module_is_loaded_when_it_is_first_needed() -> None:
    module = Deferred("minigrad.compat.ops.approximations")
    assert module.log_gamma is approximations.log_gamma
    raises(AttributeError, r"approximations.*nothing", lambda: module.nothing)


def test_public_names_are_public_for_type_checkers_too() -> None:
    """A package with py.typed exports only the names in ``__all__``: mypy and pyright treat others as private."""
    helpers = {"annotations", "Any", "ModuleType", "TYPE_CHECKING"}
    names = {name for name, value in vars(minigrad).items() if not isinstance(value, ModuleType)}
    missing = {name for name in names - helpers - set(minigrad.__all__) if not name.startswith("_")}
    assert not missing, f"not in minigrad.__all__: {sorted(missing)}"
    assert all(hasattr(minigrad, name) for name in minigrad.__all__)


def test_imports_keep_the_contracts() -> None:
    """The contracts in pyproject.toml say which modules may import which."""
    lint = pytest.importorskip("importlinter.cli", reason="import-linter reads the contracts")
    assert lint.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_the_framework_is_small_enough_to_look_through() -> None:
    assert len([path for path in (ROOT / "minigrad").iterdir() if path.name != "__pycache__"]) <= 18
    assert len([path for path in repository_files() if path.parent == ROOT and path.name[0] != "."]) <= 12


def test_no_two_files_import_each_other() -> None:
    """Not directly, not through other files, and not for type checkers."""
    grimp = pytest.importorskip("grimp", reason="grimp reads imports")
    graph = grimp.build_graph("minigrad", "minigrad_models", "examples", cache_dir=None)
    TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}).prepare()  # or CycleError


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in the wheel, which is built from a copy without pip or network."""
    build = pytest.importorskip("hatchling", reason="hatchling builds the wheel") and "hatchling"
    copy = tmp_path_factory.mktemp("wheel")
    for folder in ("minigrad", "models", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy / file)
    ran = subprocess.run(
        [sys.executable, "-m", build, "build", "-t", "wheel"], cwd=copy, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with zipfile.ZipFile(next((copy / "dist").glob("*.whl"))) as archive:
        return archive.namelist()


def test_the_wheel_holds_every_file_of_both_packages_and_nothing_else(wheel: list[str]) -> None:
    """Including CUDA sources, py.typed and data."""
    tops = {"minigrad": ROOT / "minigrad", "minigrad_models": ROOT / "models" / "minigrad_models"}
    files = [(top, path.relative_to(folder)) for top, folder in tops.items() for path in folder.rglob("*")]
    names = {
        f"{top}/{path.as_posix()}" for top, path in files if (tops[top] / path).is_file() and path.suffix != ".pyc"
    }
    assert {"minigrad/py.typed", "minigrad_models/py.typed"} <= names
    assert {name for name in wheel if ".dist-info/" not in name} == names


def test_the_one_dependency_is_numpy() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = sorted(requirement.split(">")[0] for requirement in project["dependencies"])
    assert names == ["numpy"]
    assert "torch" not in str(project["optional-dependencies"]), "PyTorch is large: no extra may ask for it"


def repository_files() -> list[Path]:
    """The files that git tracks or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: there is no list of files")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_the_citation_has_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {minigrad.version.project}\n" in text


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
        inherited = ("forward", "backward") if path.parent.name == "kernels" else ()  # the folder's name documents them
        bare = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not node.name.endswith(inherited)
            and not any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)
            and not ast.get_docstring(node)
        ]
        for node in bare:  # it may be inherited; a dataclass's "Name(fields)" does not count
            doc = getattr(import_module(".".join(place.with_suffix("").parts)), node.name).__doc__ or node.name
            without += [f"{place}:{node.lineno}: {node.name}"] * (doc.partition("(")[0] == node.name)
        without += [str(place)] if tree.body and not ast.get_docstring(tree) else []
    assert not without, "no docstring:\n" + "\n".join(without)


ENGINE = [ROOT / "minigrad" / name for name in ("ops/op.py", "autograd/tape.py", "autograd/walk.py")]
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.comprehension, ast.Assert, ast.match_case)


def branch_points(function: ast.AST) -> int:
    """The number of branches in a function."""
    inside = list(ast.walk(function))
    operators = sum(len(node.values) - 1 for node in inside if isinstance(node, ast.BoolOp))
    return operators + sum(isinstance(node, BRANCHES) for node in inside)


def test_the_engine_is_small_and_contains_only_the_engine() -> None:
    texts = [path.read_text(encoding="utf-8") for path in ENGINE]
    assert sum(len(text.splitlines()) for text in texts) <= 900
    for path, text in zip(ENGINE, texts, strict=True):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert branch_points(node) <= 12, f"{path.name}: {node.name} has {branch_points(node)} branch points"
        for word in ("complex", "profil", "viz", "deferred", "pytorch", "torch"):
            assert word not in text.lower(), f"{path.name} speaks of {word}"
