"""Builds the site's pages with MkDocs: the documents, the course, the reference, and the linked source files.

    python -m docs.web.pages FOLDER

It writes everything as Markdown to a temporary folder, under the repository's paths. The repository is not changed.
docs/web/mkdocs.yml configures the site; docs/web/overrides/ contains the templates.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from . import course, documents, reference, sources
from .documents import ROOT

HERE = Path(__file__).parent
IMAGE = re.compile(r"!\[([^\]]+)\]\((gallery/[^)\s]+)\)")
ARCHITECTURE = "docs/architecture.md"
ENGINE = {  # file: the first words of the paragraphs of docs/architecture.md that introduce it
    "minigrad/ops/op.py": ("- **One rule per input", "- **Rules are written with"),
    "minigrad/autograd/tape.py": ("A `Node` records one call to an op",),
    "minigrad/autograd/walk.py": ("- **The backward pass undoes broadcasting", "Each input of an op has its own edge"),
}
FIGURE = """\
<figure markdown="1">
[![{words}]({picture})]({picture})
<figcaption markdown="1">{words}: [how]({page})</figcaption>
</figure>
"""


def build(output: Path) -> None:
    """Build all pages into a folder. Raises SystemExit if a link is broken or a document is missing from the menu."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name).resolve())
        run_mkdocs(Path(name).resolve(), output.resolve())


def run_mkdocs(folder: Path, output: Path, menu: list[Any] | None = None) -> None:
    """Build the pages of a folder of Markdown. ``menu`` replaces the pages of mkdocs.yml and the reference. Raises
    SystemExit if a link is broken or a page is missing from the menu."""
    load: Any = import_module("mkdocs.config").load_config
    config = load(str(HERE / "mkdocs.yml"), docs_dir=str(folder), site_dir=str(output))
    how = config.nav.pop()
    start, *guides = config.nav
    config.nav = menu or [start, {"Course": course.navigation()}, *guides, {"Reference": reference.navigation()}, how]
    import_module("mkdocs.commands.build").build(config)
    for left in ("sitemap.xml", "sitemap.xml.gz"):  # they need the site's address, which is unknown
        (output / left).unlink(missing_ok=True)


def prepare(folder: Path) -> None:
    """Write everything that MkDocs reads."""
    linked: set[str] = set()
    for path in documents.pictures():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    for path in documents.documents():
        text = f"---\nhide: [navigation]\n---\n\n{_read(path)}" if path == "README.md" else _read(path)
        _write(folder, documents.page_of(path), text, path, linked)
    filled = {"how_it_works": how_it_works(), "gallery": gallery()}
    for file in sorted((HERE / "content").glob("*.md")):
        place = ARCHITECTURE if file.stem == "how_it_works" else file.name
        _write(folder, file.name, filled.get(file.stem) or _content(file.stem), place, linked)
    for name, text in course.pages().items():
        _write(folder, f"course/{name}", text, "docs/index.md", linked)
    _write(folder, "reference/index.md", reference.overview(), "docs/index.md", linked)
    for page in reference.modules():
        _write(folder, f"reference/{page}.md", reference.write(page), "docs/index.md", linked)
    _write_sources(folder, linked)


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _content(name: str) -> str:
    """One of the site's own pages; generated text replaces the fields in braces."""
    return _read(f"docs/web/content/{name}.md")


def _write(folder: Path, page: str, text: str, place: str, linked: set[str]) -> None:
    """Write a page whose text is from ``place`` in the repository."""
    file = folder / page
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(documents.relink(documents.relaid(text), place, page, linked), encoding="utf-8")


def _write_sources(folder: Path, linked: set[str]) -> None:
    """Write the pages of all linked files, including those to which folders' pages link."""
    complete: set[str] = set()
    while rest := sorted(linked - complete):
        for path in rest:
            _write(folder, documents.page_of(path), sources.page(path), "README.md", linked)
        complete.update(rest)


def how_it_works() -> str:
    """The engine's code, introduced by paragraphs of docs/architecture.md, with links relative to that file."""
    text = _read(ARCHITECTURE)
    start, parts = documents.paragraph(text, "The engine is three files:"), []
    for path, beginnings in ENGINE.items():
        parts.append(f"## {path.removeprefix('minigrad/')}")
        parts += [documents.paragraph(text, beginning) for beginning in beginnings]
        parts.append(sources.placeholder(path, f"{Path(path).stem}-"))
    return _content("how_it_works").format(start=start, engine="\n\n".join(parts))


def gallery() -> str:
    """All pictures of docs/gallery, with the documents' captions and links to them."""
    figures: dict[str, str] = {}
    for path in documents.documents():
        images = IMAGE.findall(_read(path)) if path.startswith("docs/") else ()
        figures |= {
            picture: FIGURE.format(words=words, picture=f"docs/{picture}", page=path) for words, picture in images
        }
    return _content("gallery").format(figures="\n".join(figures.values()))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
