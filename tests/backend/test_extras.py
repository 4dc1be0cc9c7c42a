"""Commands that install optional libraries: right for a checkout, a wheel and a notebook."""

import importlib.metadata
import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minigrad.backend import extras
from tests.support.cases import cases

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _active(monkeypatch: pytest.MonkeyPatch) -> None:
    """An active environment, whose ``pip`` is this Python's, and no notebook."""
    monkeypatch.setattr(shutil, "which", lambda name: str(Path(sys.executable).with_name(name)))
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


class Installed:
    """A distribution as pip has noted it."""

    def __init__(self, origin: Any) -> None:
        self.origin = origin

    def read_text(self, _name: str) -> str | None:
        return None if self.origin is None else json.dumps(self.origin)


def came_from(monkeypatch: pytest.MonkeyPatch, *origins: Any) -> None:
    """Let pip have noted these places as those that the package came from."""
    monkeypatch.setattr(importlib.metadata, "distributions", lambda name: [Installed(origin) for origin in origins])


@cases(
    "origins",
    [
        (),  # on PYTHONPATH
        (None,),  # from an index, or a folder's egg-info
        ({"url": "file:///x/minigrad_nn-0.1.0-py3-none-any.whl", "archive_info": {}},),
        ({"url": "file:///another/checkout", "dir_info": {"editable": True}},),
        ({"url": ROOT.as_uri(), "dir_info": {}},),  # copied from the checkout
    ],
)
def test_the_packages_are_named_where_there_is_no_editable_checkout(
    monkeypatch: pytest.MonkeyPatch, origins: tuple[Any, ...]
) -> None:
    came_from(monkeypatch, *origins)
    assert extras.how_to_install("translate", "tokenizers", "tqdm") == "pip install tokenizers tqdm"


def test_an_editable_checkout_installs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch, None, {"url": ROOT.as_uri(), "dir_info": {"editable": True}})
    told = extras.how_to_install("viz", "pillow")
    assert told == f"pip install pillow (or all of the extra viz: pip install -e '{ROOT}[viz]')"


def test_another_pip_on_the_path_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/pip" if name == "pip" else None)
    assert extras.how_to_install("viz", "pillow") == f"{extras.quoted(sys.executable)} -m pip install pillow"


def test_a_notebook_has_a_command_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    assert extras.how_to_install("viz", "pillow") == "%pip install pillow"


def test_no_text_names_an_extra_of_the_other_package() -> None:
    """On PyPI ``minigrad`` is another project: a command with it would fetch that one."""
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
    assert not lines, f"these tell people to install another project: {lines}"
