"""A build replaces the site only after all its parts have been built."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.web import build as builder, node, packs, pages, scripts, translator

STEPS = {"node": node, "pages": pages, "packs": packs, "scripts": scripts, "translator": translator}


class Steps:
    """Stubs for the parts of a build: each writes a file with its name, or fails."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failing = ""

    def step(self, name: str) -> Callable[..., None]:
        """The stub of a part."""

        def act(folder: Path | None = None, *more: Any) -> None:
            self.done.append(name)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("new")
            if name == self.failing:
                raise SystemExit(f"{name} failed")
            if name == "translator":
                assert more == (builder.POLICY,)

        return act


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Replace the parts with stubs."""
    stubs = Steps()
    for name, module in STEPS.items():
        monkeypatch.setattr(module, "install" if name == "node" else "build", stubs.step(name))
    return stubs


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A site from an earlier build."""
    site = tmp_path / "site"
    (site / "python").mkdir(parents=True)
    (site / "index.html").write_text("old")
    (site / "python" / "manifest.json").write_text("old")
    return site


def content(folder: Path) -> dict[str, str]:
    """The files in a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_a_new_site_replaces_the_old_one(steps: Steps, old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder.build(old)
    files = content(old)
    assert {"pages", "python/packs", "scripts", "translator"} <= set(files)
    assert "old" not in files.values()
    assert steps.done == list(STEPS)
    assert {path.name for path in old.parent.iterdir()} == {old.name, f".{old.name}-parts"}
    assert f"the site is in {old}" in capsys.readouterr().out


def test_only_what_has_changed_is_built_again(
    steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, site = tmp_path / "checkout", tmp_path / "site"
    for place in ("minigrad/op.py", "models/gpt.py", "docs/viz.md", "docs/web/src/cells.js", "README.md"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("first")
    monkeypatch.setattr(builder, "ROOT", root)
    rows = [
        ("README.md", ["node", "pages", "packs", "scripts", "translator"]),  # everything at first
        ("docs/web/node_modules/a.js", ["node"]),
        ("minigrad/__pycache__/op.pyc", ["node"]),
        ("README.md", ["node", "pages"]),
        ("docs/viz.md", ["node", "pages"]),
        ("docs/web/src/cells.js", ["node", "scripts", "translator"]),
        ("docs/web/content/playground.md", ["node", "pages"]),
        ("docs/web/python/cells.py", ["node", "packs"]),
        ("docs/web/package-lock.json", ["node", "pages", "packs", "scripts", "translator"]),
        ("minigrad/op.py", ["node", "pages", "packs", "translator"]),
        ("models/new.py", ["node", "pages", "packs", "translator"]),
        (builder.MODEL, ["node", "translator"]),
    ]
    for number, (place, expected) in enumerate(rows):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(f"change {number}")
        steps.done.clear()
        builder.build(site)
        assert steps.done == expected, place
        (site / "python" / "manifest.json").touch()
        assert {"pages", "python/packs", "scripts", "translator"} <= set(content(site))
    capsys.readouterr()


@pytest.mark.parametrize("failing", ["node", "translator"])
def test_a_part_that_fails_leaves_the_old_site_unchanged(failing: str, steps: Steps, old: Path) -> None:
    before = content(old)
    steps.failing = failing
    with pytest.raises(SystemExit, match=failing):
        builder.build(old)
    assert content(old) == before
    assert steps.done[-1] == failing


def test_a_folder_that_is_not_a_site_is_kept(steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work" / "here").mkdir(parents=True)
    (tmp_path / "work" / "thesis.txt").write_text("all of it")
    monkeypatch.chdir(tmp_path / "work" / "here")
    for out in ("..", "../thesis.txt", str(tmp_path)):
        with pytest.raises(SystemExit, match="is not a site, but building would delete it"):
            builder.build(Path(out))
    assert content(tmp_path) == {"work/thesis.txt": "all of it"}
    assert steps.done == []
