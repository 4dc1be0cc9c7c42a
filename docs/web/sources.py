"""Pages of source: a file of the repository, highlighted, each line with an anchor (#L12), or a folder's list.

A page's Markdown has a placeholder alone, which ``filled`` replaces after Markdown is done with the page.
"""

from __future__ import annotations

import html
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from .documents import ROOT

PLACEHOLDER = re.compile(r'<div data-source="([^"]+)" data-prefix="([^"]*)"></div>')
MOST = 400_000  # characters that are shown of a file
FRONT = "---\ntitle: {title}\nhide: [navigation, toc]\nsearch: {{exclude: true}}\n---\n\n# `{title}`\n\n"


def placeholder(path: str, prefix: str = "") -> str:
    """Where a file is to be shown; its anchors begin with the prefix."""
    return f'<div data-source="{path}" data-prefix="{prefix}"></div>'


def page(path: str) -> str:
    """The Markdown of the page of a file or a folder, whose links lead from the top of the repository."""
    front = FRONT.format(title=path)
    if (ROOT / path).is_dir():
        return front + "\n".join(f"- [{file.name}]({file.relative_to(ROOT).as_posix()})" for file in listed(path))
    return f"{front}{placeholder(path)}\n"


def listed(folder: str) -> list[Path]:
    """The files of a folder that are worth a page."""
    found = (ROOT / folder).iterdir()
    return sorted(path for path in found if path.is_file() and path.name[0] != "." and _text(path) is not None)


def filled(content: str, anchors: set[str]) -> str:
    """A page's HTML with files in the places of placeholders. Gets the anchors that it has then."""

    def shown(match: re.Match[str]) -> str:
        text = _text(ROOT / html.unescape(match[1])) or ""
        anchors.update(f"{match[2]}L{n}" for n in range(1, text.count("\n") + 2))
        return highlighted(text, Path(match[1]).name, match[2])

    return PLACEHOLDER.sub(shown, content)


def highlighted(text: str, name: str, prefix: str = "") -> str:
    """The text of a file as HTML, a span for each line, whose id is its number."""
    lines = coloured(text[:MOST], lexer(name)).split("\n")
    spans = (f'<span class="line" id="{prefix}L{n}">{line}</span>' for n, line in enumerate(lines, 1))
    return f'<div class="highlight listing"><pre tabindex="0"><code>{chr(10).join(spans)}\n</code></pre></div>'


def coloured(text: str, lexer: Any) -> str:
    """A text as a lexer of pygments colours it, in HTML."""
    formatter: Any = import_module("pygments.formatters").HtmlFormatter(nowrap=True)
    return str(import_module("pygments").highlight(text, lexer, formatter)).rstrip("\n")


def lexer(name: str) -> Any:
    """What colours a file of this name; blank lines at its begin and end count."""
    lexers: Any = import_module("pygments.lexers")
    try:
        return lexers.get_lexer_for_filename(name, stripnl=False)
    except import_module("pygments.util").ClassNotFound:
        return lexers.TextLexer(stripnl=False)


def _text(path: Path) -> str | None:
    """A file's text; None if it is not one."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
