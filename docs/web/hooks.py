"""MkDocs's hooks: they insert source files into pages after Markdown, which is slow if there is much HTML."""

from __future__ import annotations

from typing import Any

from docs.web.sources import filled


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page's HTML with its source files inserted. MkDocs checks links against their lines."""
    anchors: set[str] = set()
    result = filled(html, anchors)
    if page.present_anchor_ids is not None:
        page.present_anchor_ids |= anchors
    return result
