"""Converts notebooks to pages with their text, their cells, and the stored outputs of the last run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def page(notebook: Path, target: Path) -> str:
    """A notebook's Markdown. Its pictures are written next to ``target``, the page's file."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts: list[str] = []
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source.strip():
            parts.append(_fenced("python", source))
            parts += _outputs(cell["outputs"], target.with_name(f"{target.stem}_{number}"))
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[dict[str, Any]], stem: Path) -> Iterator[str]:
    """A cell's text output, and its pictures, written to ``stem``-0.svg and so on."""
    for number, output in enumerate(outputs):
        data = output.get("data", {"text/plain": output.get("text", "")})
        file = stem.with_name(f"{stem.name}-{number}")
        if "image/svg+xml" in data:
            yield _picture(file.with_suffix(".svg"), "".join(data["image/svg+xml"]).encode())
        elif "image/png" in data:
            yield _picture(file.with_suffix(".png"), base64.b64decode("".join(data["image/png"])))
        elif text := "".join(data.get("text/plain", "")).strip("\n"):
            yield _fenced("text", text)


def _picture(file: Path, content: bytes) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return f"![The cell's picture]({file.name})"


def _fenced(language: str, text: str) -> str:
    ticks = "````" if "```" in text else "```"
    return f"{ticks}{language}\n{text}\n{ticks}"
