"""The page's own scripts, put together by esbuild: of CodeMirror only what is used."""

from __future__ import annotations

import ast
import json
import tempfile
from pathlib import Path

from . import node

SOURCES = Path(__file__).parent / "src"
EXAMPLES = Path(__file__).parent / "examples"
ENTRIES = ("cells.js", "playground.js", "translator.js")
STYLES = ("site.css",)


def examples() -> list[dict[str, str]]:
    """The playground's programs, in the order of their files' names: {"title", "program"}."""
    programs = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py"))]
    return [{"title": ast.get_docstring(ast.parse(text)) or "", "program": text} for text in programs]


def build(site: Path) -> None:
    """Write scripts/ and styles/ of the site."""
    options = ("--bundle", "--minify", "--format=esm", "--splitting", "--target=es2022", "--log-level=warning")
    entries = [str(SOURCES / name) for name in ENTRIES]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "examples.json"
        listed.write_text(json.dumps(examples()), encoding="utf-8")
        node.run("esbuild", *entries, *options, f"--alias:examples={listed}", f"--outdir={site / 'scripts'}")
    styles = site / "styles"
    styles.mkdir(parents=True, exist_ok=True)
    for name in STYLES:
        (styles / name).write_bytes((SOURCES / name).read_bytes())
