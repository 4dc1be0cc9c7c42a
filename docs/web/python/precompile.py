"""Run by the browser's own Python (docs/web/node.mjs): adds the bytecode of the first import to each pack.

The archives that it writes are not compressed: they are compressed for transport, and unpack fast. The standard
library and NumPy keep only their bytecode.
"""

import io
import py_compile
import tarfile
import tempfile
import zipfile
from importlib.util import cache_from_source
from pathlib import Path, PurePosixPath

PACKS = Path("/packs")
PACKAGES = "/lib/python3.11/site-packages"
LIBRARY = PACKS / "python_stdlib.zip"
MODE = py_compile.PycInvalidationMode.UNCHECKED_HASH  # the files never change
EPOCH = (2020, 1, 1, 0, 0, 0)
# Parts of the standard library that no program on a page imports
LEFT_OUT = ("curses", "distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "sqlite3", "test", "tkinter")
LEFT_OUT += ("turtledemo", "venv", "wsgiref", "xmlrpc")


def compiled(source: bytes, name: str, level: int = 0) -> bytes:
    """The bytecode of a file, which appears as ``name`` in tracebacks; level 2 omits docstrings."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "source.py"
        file.write_bytes(source)
        path = py_compile.compile(str(file), str(file) + "c", name, True, level, MODE)
        return Path(str(path)).read_bytes()


def library() -> None:
    """Keep only the bytecode of each module of the standard library, without the parts that no page needs."""
    with zipfile.ZipFile(LIBRARY) as archive:
        infos = [info for info in archive.infolist() if PurePosixPath(info.filename).parts[0] not in LEFT_OUT]
        files = [(info.filename, archive.read(info)) for info in infos if not info.is_dir()]
    with zipfile.ZipFile(LIBRARY, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files:
            if name.endswith(".py"):
                name, content = name + "c", compiled(content, f"/lib/python311.zip/{name}", 2)
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content)


def package(pack: Path) -> None:
    """Add the bytecode of each module next to it; drop NumPy's source, which is large."""
    with tarfile.open(pack) as archive:
        files = [(member.name, archive.extractfile(member).read()) for member in archive.getmembers()]  # type: ignore
    with tarfile.open(pack, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files:
            path = f"{PACKAGES}/{name}"
            if not name.endswith(".py"):
                add(archive, name, content)
            elif pack.stem == "numpy":
                add(archive, name + "c", compiled(content, path))
            else:
                add(archive, name, content)
                add(archive, cache_from_source(name), compiled(content, path))


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file to an archive."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


library()
for pack in sorted(PACKS.glob("*.tar")):
    package(pack)
