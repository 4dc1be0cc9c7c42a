"""Runs the core of the test suite in Pyodide, the Python of the site, with Node instead of a browser.

    python -m docs.web.core_tests tests/ops tests/functions tests/autograd tests/nn tests/optim tests/serialization

The arguments are passed to pytest, which is copied from this environment, since it is pure Python.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from . import node, packs

HERE = Path(__file__).parent
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


def pytest_files() -> Iterator[tuple[str, bytes]]:
    """The files of pytest and its dependencies, with their paths in site-packages, and the metadata that it reads."""
    for name in PYTEST:
        package = distribution(name)
        for file in sorted(package.files or [], key=str):
            if file.suffix == ".py" or file.name in ("METADATA", "entry_points.txt"):
                yield file.as_posix(), Path(str(package.locate_file(file))).read_bytes()


def main(arguments: list[str]) -> None:
    """Build the packs, and run pytest on them. Raises SystemExit if a test fails or a requirement is missing."""
    if find_spec("pytest") is None:
        raise SystemExit('The tests need pytest: pip install -e ".[test]".')
    node.install()
    with tempfile.TemporaryDirectory() as folder:
        packs.pack(Path(folder))
        with zipfile.ZipFile(Path(folder) / "pytest.zip", "w") as archive:
            for name, content in pytest_files():
                archive.writestr(name, content)
        node.run("node", HERE / "node.mjs", folder, HERE / "python" / "core_tests.py", *arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
