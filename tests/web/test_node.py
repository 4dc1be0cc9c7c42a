"""npm and Node.js: missing programs and failures are one-sentence errors, and nothing is installed twice."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs.web import node
from tests.support.cases import raises


class Npm:
    """A stub for subprocess.run: it records commands, and creates npm's folder."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.folders: list[Path | None] = []
        self.code = 0

    def run(self, command: list[str], cwd: Path | None = None, check: bool = True) -> SimpleNamespace:
        """Record a command."""
        assert not check
        self.commands.append(command)
        self.folders.append(cwd)
        node.MODULES.mkdir(exist_ok=True)
        return SimpleNamespace(returncode=self.code)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """A stub of npm in a folder with a lock file."""
    stub = Npm()
    (tmp_path / "package-lock.json").write_text("{}")
    monkeypatch.setattr(node, "HERE", tmp_path)
    monkeypatch.setattr(node, "MODULES", tmp_path / "node_modules")
    monkeypatch.setattr(node, "STAMP", tmp_path / "node_modules" / ".minigrad-installed")
    monkeypatch.setattr(subprocess, "run", stub.run)
    monkeypatch.setattr(shutil, "which", lambda name, path="/programs": f"{path}/{name}")
    return stub


def test_without_npm_the_error_says_what_is_needed(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    raises(SystemExit, r"needs Node\.js .* npm", node.install)
    assert npm.commands == [] and not node.STAMP.exists()


def test_locked_packages_are_installed_without_scripts(npm: Npm) -> None:
    node.install()
    ((program, verb, *options),) = npm.commands
    assert (program, verb) == ("/programs/npm", "ci")
    assert "--ignore-scripts" in options
    assert npm.folders == [node.HERE]
    node.STAMP.unlink(missing_ok=True)
    npm.code = 1
    raises(SystemExit, "npm could not install", node.install)
    assert not node.STAMP.exists()  # so it is retried


def test_a_program_that_fails_is_reported(npm: Npm, tmp_path: Path) -> None:
    node.run("esbuild", "a.js", "--bundle")
    assert npm.commands[0] == [str(node.MODULES / ".bin" / "esbuild"), "a.js", "--bundle"]
    npm.code = 1
    raises(SystemExit, "esbuild failed", lambda: node.run("esbuild"))
