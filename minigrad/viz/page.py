"""A self-contained HTML file with data, styles and scripts. Names from a user's program (tensors, tokens, files) are
passed as JSON and become text on the page, never markup. The page's content security policy blocks all requests, and
all scripts except its own."""

from __future__ import annotations

import base64
import errno
import hashlib
import html
import json
import math
import os
import re
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..serialization.source import replaced

PACK_BYTES = 200_000  # JSON of this size or more is compressed
_HALVES = re.compile("[\ud800-\udfff]")  # lone surrogates, which UTF-8 cannot encode
_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True)
class Page:
    """A page that works offline. In its scripts, `await viz.data()` (assets/base.js) returns ``data``. Non-finite
    numbers are passed as the strings "NaN", "Infinity" and "-Infinity", which `viz.number` converts back."""

    title: str  # the window title, as plain text
    data: Any
    scripts: tuple[str, ...] = ()  # files in assets/, loaded after base.js
    styles: tuple[str, ...] = ()  # files in assets/, loaded after base.css
    body: str = ""  # the page's HTML, without user data
    height: int = 640  # the height in a notebook, in pixels
    frames: tuple[Page, ...] = ()  # pages whose scripts may run in this page; ``data["frames"]`` contains their HTML

    @classmethod
    def of(cls, name: str, title: str, data: Any, scripts: tuple[str, ...] = (), **more: Any) -> Page:
        """Create a page that assets/NAME.js (or ``scripts``) draws in the element #NAME, styled by assets/NAME.css."""
        body = f'<main id="{name}"></main>'
        return cls(title, data, scripts or (f"{name}.js",), (f"{name}.css",), body, **{"height": 760, **more})

    def html(self) -> str:
        style = "\n".join(asset(name) for name in ("base.css", *self.styles))
        dark = asset("dark.css")  # base.js toggles it
        hashes = (hashlib.sha256(page.script().encode()).digest() for page in (self, *self.frames))
        scripts = dict.fromkeys(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
        policy = (
            f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
            f"script-src {' '.join(scripts)}; base-uri 'none'; form-action 'none'"
        )
        inner = {"frames": [page.html() for page in self.frames]} if self.frames else {}
        text = json.dumps(
            plain({**self.data, **inner} if inner else self.data), ensure_ascii=False, separators=(",", ":")
        )
        text = _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
        kind, data = "application/json", text.translate(_SAFE)
        if len(text) >= PACK_BYTES:
            kind, data = f"{kind}+deflate", base64.b64encode(zlib.compress(text.encode(), 9)).decode()
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{_text(self.title)}</title>\n<style>{style}</style>\n"
            f'<style id="dark" media="screen and (prefers-color-scheme: dark)">{dark}</style>\n'
            f"</head>\n<body>\n{self.body}\n<noscript>This page needs JavaScript.</noscript>\n"
            f'<script type="{kind}" id="data">{data}</script>\n<script>{self.script()}</script>\n'
            f"</body>\n</html>\n"
        )

    def script(self) -> str:
        return "\n".join(asset(name) for name in ("base.js", *self.scripts))

    def framed(self, svg: str = "") -> str:
        """The page in an iframe for a notebook, whose light or dark theme it follows. ``svg`` is an image to show
        instead on sites that remove iframes from notebooks, such as GitHub."""
        picture = base64.b64encode(svg.encode("utf-8", "replace")).decode()
        instead = f'<img src="data:image/svg+xml;base64,{picture}" alt="{_text(self.title)}">' if svg else ""
        return (
            f"<style>{asset('notebook.css')}</style>"
            f'<iframe class="minigrad-page" srcdoc="{html.escape(self.html())}" '
            f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{self.height}px;border:0" '
            f'title="{_text(self.title)}"></iframe>{instead}'
            f"<script>{asset('notebook.js')}</script>"
        )


def written(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file atomically. Text is encoded as UTF-8, with "\\n" line endings on every system. If the file cannot be
    written, keeps any existing file and raises OSError (FileNotFoundError if the folder does not exist)."""
    file = Path(path)
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(folder))
    with replaced(file) as temporary:
        Path(temporary).write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@cache
def asset(name: str) -> str:
    """The text of a file in assets/."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _text(title: str) -> str:
    return html.escape(_HALVES.sub("\ufffd", title))


def plain(value: Any) -> Any:
    """Replace numbers that JSON cannot represent with strings, which the page's `viz.number` converts back."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
