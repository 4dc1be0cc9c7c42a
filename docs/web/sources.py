"""Source pages: a highlighted file with an anchor for each line (#L12), or the list of the files in a folder.

A page's Markdown has only a placeholder, which ``filled`` replaces after Markdown has processed the page.
"""

from __future__ import annotations

import html
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from .documents import ROOT

PLACEHOLDER = re.compile(r'<div data-source="([^"]+)" data-prefix="([^"]*)"></div>')
MOST = 400_000  # characters of a file that are shown
FRONT = "---\ntitle: {title}\nhide: [navigation, toc]\nsearch: {{exclude: true}}\n---\n\n# `{title}`\n\n"


def placeholder(path: str, prefix: str = "") -> str:
    """A placeholder for a file; the anchors of its lines start with the prefix."""
    return f'<div data-source="{path}" data-prefix="{prefix}"></div>'


def page(path: str) -> str:
    """The Markdown of a file's or folder's page, with links relative to the root of the repository."""
    front = FRONT.format(title=path)
    if (ROOT / path).is_dir():
        return front + "\n".join(f"- [{file.name}]({file.relative_to(ROOT).as_posix()})" for file in listed(path))
    return f"{front}{placeholder(path)}\n"


def listed(folder: str) -> list[Path]:
    """The files of a folder that get a page."""
    paths = (ROOT / folder).iterdir()
    return sorted(path for path in paths if path.is_file() and path.name[0] != "." and _text(path) is not None)


def filled(content: str, anchors: set[str]) -> str:
    """A page's HTML with files in place of the placeholders. ``anchors`` receives the anchors of their lines."""

    def shown(match: re.Match[str]) -> str:
        text = _text(ROOT / html.unescape(match[1])) or ""
        anchors.update(f"{match[2]}L{n}" for n in range(1, text.count("\n") + 2))
        return highlighted(text, Path(match[1]).name, match[2])

    return PLACEHOLDER.sub(shown, content)


def highlighted(text: str, name: str, prefix: str = "") -> str:
    """The text of a file as HTML, with a span for each line. The id of the span contains the line number."""
    lines = coloured(text[:MOST], lexer(name)).split("\n")
    spans = (f'<span class="line" id="{prefix}L{n}">{line}</span>' for n, line in enumerate(lines, 1))
    return f'<div class="highlight listing"><pre tabindex="0"><code>{chr(10).join(spans)}\n</code></pre></div>'


def coloured(text: str, lexer: Any) -> str:
    """A text as HTML, highlighted by a lexer of pygments."""
    formatter: Any = import_module("pygments.formatters").HtmlFormatter(nowrap=True)
    return str(import_module("pygments").highlight(text, lexer, formatter)).rstrip("\n")


def lexer(name: str) -> Any:
    """The lexer for a file name; it keeps blank lines at the start and end."""
    lexers: Any = import_module("pygments.lexers")
    try:
        return lexers.get_lexer_for_filename(name, stripnl=False)
    except import_module("pygments.util").ClassNotFound:
        return lexers.TextLexer(stripnl=False)


def _text(path: Path) -> str | None:
    """A file's text; None if it is not a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
