"""The interpreter's files as a browser fetches them: named after their content, and told in a manifest."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from web import interpreter

FILES = {"pyodide.js": b"start()", "minigrad.tar": bytes(9000)}


def built(folder: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The manifest of files."""
    monkeypatch.setattr(interpreter, "files", lambda: iter(files.items()))
    total = interpreter.build(folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert total == sum(file["bytes"] for file in manifest["files"])
    return manifest


def test_the_manifest_tells_what_a_browser_fetches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site" / "python"
    listed = built(folder, FILES, monkeypatch)["files"]
    assert [file["name"] for file in listed] == list(FILES)
    for file in listed:
        packed = (folder / file["path"]).read_bytes()
        digest = hashlib.sha256(packed)
        assert gzip.decompress(packed) == FILES[file["name"]]
        assert packed[4:8] == bytes(4)  # no time of the build
        assert file["bytes"] == len(packed)
        assert file["sha256"] == base64.b64encode(digest.digest()).decode()
        assert file["path"] == f"{file['name']}.{digest.hexdigest()[:12]}.gz"
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *(file["path"] for file in listed)}


def test_the_version_is_that_of_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = built(tmp_path / "1", FILES, monkeypatch)
    assert built(tmp_path / "2", FILES, monkeypatch) == first  # whenever it is built
    changed = built(tmp_path / "3", {**FILES, "pyodide.js": b"begin()"}, monkeypatch)
    assert changed["version"] != first["version"]
    before, after = ([file["path"] for file in manifest["files"]] for manifest in (first, changed))
    assert before[0] != after[0] and before[1] == after[1]
    assert built(tmp_path / "4", {"pyodide.js": FILES["pyodide.js"]}, monkeypatch)["version"] != first["version"]
