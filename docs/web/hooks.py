"""MkDocs hooks that insert source files after the Markdown conversion, which is slow for pages with much HTML."""

from __future__ import annotations

from typing import Any

from docs.web.sources import filled


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page's HTML with its source files inserted. MkDocs gets the anchors of their lines, to check links."""
    anchors: set[str] = set()
    result = filled(html, anchors)
    if page.present_anchor_ids is not None:
        page.present_anchor_ids |= anchors
    return result
