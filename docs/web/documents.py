"""Converts the repository's Markdown, written for GitHub, to Python-Markdown, with links that work in the site.

The site keeps the repository's paths: docs/viz.md stays docs/viz.md. README.md is its first page, and other link
targets (a file, a line, a folder) become pages below source/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PICTURES = (".svg", ".png", ".gif", ".jpg", ".webp")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r" *(```+|~~~+)")
ITEM = re.compile(r"( *)([-*+]|\d+\.)( +)(?=\S)")


def documents() -> list[str]:
    """The paths of all documents in the repository that get a page each."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def pictures() -> list[str]:
    """The paths of the documents' pictures."""
    paths = sorted(path for path in (ROOT / "docs").rglob("*") if path.suffix in PICTURES)
    return [path.relative_to(ROOT).as_posix() for path in paths]


def page_of(path: str) -> str:
    """The path in the site that shows a file or folder of the repository."""
    if path == "README.md":
        return "index.md"
    if path in documents():
        return path
    if path in pictures():
        return path
    return f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"


def relink(text: str, place: str, page: str, linked: set[str]) -> str:
    """The text of a document at ``place`` in the repository, with its links changed for ``page`` in the site.
    ``linked`` receives the files and folders that need a page below source/. A broken link is left unchanged, and
    MkDocs reports it."""

    def led(match: re.Match[str]) -> str:
        target = PurePosixPath(os.path.normpath(PurePosixPath(place).parent / match[1])).as_posix()
        if target.startswith("..") or not (ROOT / target).exists():
            return match[0]
        path = page_of(target)
        if path.startswith("source/"):
            linked.add(target)
        return f"]({os.path.relpath(path, PurePosixPath(page).parent).replace(os.sep, '/')}{match[2] or ''})"

    return "\n".join(line if fenced else LINK.sub(led, line) for line, fenced in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is in a fenced block."""
    fence = ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence:
            yield line, True
            if match and line.strip() == fence:
                fence = ""
        else:
            yield line, bool(match)
            fence = match[1] if match else ""


def relaid(text: str) -> str:
    """Markdown in Python-Markdown's dialect: the content of list items is indented by 4 spaces, a blank line separates
    a list from the paragraph before it, and bars within code in tables have no backslash."""
    text = re.sub(r"^<!--.*?-->\n", "\n", text, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("<details>", '<details markdown="1">')
    result: list[str] = []
    columns: list[int] = []  # the column of each open item's content
    for line, fenced in _lines(text):
        if not line.strip():
            result.append("")
            continue
        indent = len(line) - len(line.lstrip(" "))
        inside = fenced and not FENCE.match(line)
        continued = bool(columns)
        item = None if fenced else ITEM.match(line)
        ends_item = bool(ITEM.match(line)) or not result or not result[-1]  # otherwise, it continues the item
        while not inside and ends_item and columns and indent < columns[-1]:
            columns.pop()
        if item and len(item[1]) <= (columns[-1] if columns else 0) + 3:
            if not continued and result and result[-1]:
                result.append("")
            result.append("    " * len(columns) + line.lstrip(" "))
            columns.append(len(item[0]))
        else:
            result.append("    " * len(columns) + _table_row(line[min(indent, columns[-1]) if columns else 0 :]))
    return "\n".join(result)


def _table_row(line: str) -> str:
    """A row of a table, without the backslashes before bars within code."""
    if not line.startswith("|"):
        return line
    return re.sub(r"(`+)(.+?)\1", lambda code: code[0].replace("\\|", "|"), line)


def sections(text: str) -> Iterator[str]:
    """The paragraphs and items of a document, outside of fenced blocks."""
    outside = "\n".join("" if fenced else line for line, fenced in _lines(text))
    yield from filter(None, (part.strip("\n") for part in re.split(r"\n\n|\n(?=- )", outside)))


def paragraph(text: str, start: str) -> str:
    """The paragraph that starts with these words. Raises LookupError if the document has none."""
    for part in sections(text):
        if part.startswith(start):
            return part
    raise LookupError(f"no paragraph begins with {start!r}")
