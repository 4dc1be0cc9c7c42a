"""Bundles the pages' own scripts, and the parts of CodeMirror that they use, with esbuild."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import node

SOURCES = Path(__file__).parent / "src"
EXAMPLES = Path(__file__).parent / "examples"
ENTRIES = ("cells.js", "first.js", "playground.js", "translator.js")
OPTIONS = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning")
INSIDE = ("frame", "worker")  # for the frame in which programs run, which cannot fetch anything


def examples() -> list[dict[str, str]]:
    """The playground's programs, in the order of their files' names: {"title", "program"}."""
    programs = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py"))]
    return [{"title": ast.get_docstring(ast.parse(text)) or "", "program": text} for text in programs]


def bundle(entries: Sequence[str], *options: str) -> None:
    """Bundle scripts of src/ with all their imports, for current browsers. ``options`` are esbuild's."""
    inside = {name: (SOURCES / f"{name}.js").read_text(encoding="utf-8") for name in INSIDE}
    with tempfile.TemporaryDirectory() as folder:
        aliases = []
        for name, value in (("examples", examples()), ("inside", inside)):
            file = Path(folder) / f"{name}.json"
            file.write_text(json.dumps(value), encoding="utf-8")
            aliases.append(f"--alias:{name}={file}")
        paths = [str(SOURCES / name) for name in entries]
        node.run("esbuild", *paths, *aliases, *OPTIONS, *options)


def build(site: Path) -> None:
    """Write the site's scripts/ and styles/."""
    bundle(ENTRIES, "--splitting", f"--outdir={site / 'scripts'}")
    styles = site / "styles"
    styles.mkdir(parents=True, exist_ok=True)
    (styles / "site.css").write_bytes((SOURCES / "site.css").read_bytes())
