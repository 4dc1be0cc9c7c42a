"""Commands that install optional libraries suit a checkout, a wheel and a notebook."""

import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minigrad.backend import extras

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _active(monkeypatch: pytest.MonkeyPatch) -> None:
    """An active environment, whose ``pip`` is this Python's, and no notebook."""
    monkeypatch.setattr(shutil, "which", lambda name: str(Path(sys.executable).with_name(name)))
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


def test_the_packages_are_named() -> None:
    assert extras.how_to_install("tokenizers", "tqdm") == "pip install tokenizers tqdm"


def test_another_pip_on_the_path_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/pip" if name == "pip" else None)
    assert extras.how_to_install("pillow") == f"{extras.quoted(sys.executable)} -m pip install pillow"


def test_a_notebook_has_a_separate_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert extras.how_to_install("pillow") == "%pip install pillow"


def test_no_text_names_an_extra_of_the_other_package() -> None:
    """On PyPI ``minigrad`` is another project, which a command with its name would install."""
    folders = ("minigrad", "examples", "docs", "benchmarks", "tests")
    places = [*(path for top in folders for path in (ROOT / top).rglob("*")), *ROOT.glob("*.md"), *ROOT.glob("*.py")]
    texts = [path for path in places if path.suffix in (".py", ".md", ".txt") and path != Path(__file__)]
    wrong = re.compile(r"minigrad\[\w|pip install ['\"]?minigrad\b(?!-)")
    lines = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if wrong.search(line)
    ]
    assert not lines, f"these commands install another project: {lines}"
