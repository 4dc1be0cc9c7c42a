"""Converts docstrings to Markdown: paragraphs, lists of arguments and errors, and examples."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from textwrap import dedent

HEADINGS = ("Args", "Attributes", "Raises", "Returns", "Shape", "Shapes", "Yields")
HEADING = re.compile(rf"({'|'.join(HEADINGS)}):\s*(.*)", re.DOTALL)
ENTRY = re.compile(r"([*\w][\w.*, ]*): (.*)", re.DOTALL)
CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)


def markdown(doc: str) -> str:
    """A dedented docstring as Markdown."""
    return "\n\n".join(part for block in _blocks(doc) for part in _block(block))


def _blocks(doc: str) -> Iterator[str]:
    """The parts between empty lines. An example extends to its end, a section to the next line without indentation."""
    block = ""
    for part in re.split(r"\n\s*\n", doc.strip("\n")):
        is_example = block.startswith(">>>") and part.startswith(">>>")
        if block and (is_example or (part.startswith(" ") and HEADING.match(block))):
            block += f"\n\n{part}"
        else:
            if block:
                yield block
            block = part
    if block:
        yield block


def _block(block: str) -> Iterator[str]:
    if block.startswith(">>>"):
        yield f"```pycon\n{block}\n```"
    elif block.startswith("    "):
        yield f"```text\n{dedent(block)}\n```"
    elif match := HEADING.match(block):
        yield f"**{match[1]}**"
        yield _section(match[1], match[2] if "\n" not in block else block.split("\n", 1)[1], block)
    elif all(line.startswith(("- ", "  ")) for line in block.split("\n")):
        yield "\n".join(f"- {prose(item)}" for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:])
    else:
        yield prose(block)


def _section(heading: str, body: str, block: str) -> str:
    """The entries of a section as a list, or its text."""
    first = block.split("\n", 1)[0].partition(":")[2].strip()
    body = dedent(body)
    if heading in ("Returns", "Yields", "Shape", "Shapes") or first:
        return prose(f"{first} {body}" if first and "\n" in block else body)
    entries: list[str] = []
    for line in body.split("\n"):
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line.strip():
            entries.append(line.strip())
    return "\n".join(f"- {_entry(entry)}" for entry in entries)


def _entry(entry: str) -> str:
    """``name: text`` with the name as code."""
    match = ENTRY.match(entry)
    return f"`{match[1]}`: {prose(match[2])}" if match else prose(entry)


def prose(text: str) -> str:
    """A paragraph with Markdown's special characters escaped, except in code in back quotes."""
    parts = CODE.split(" ".join(text.split()))
    parts[::2] = [re.sub(r"([\\`*_\[\]{}])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2]]
    return re.sub(r"^(\d*)([-+#.])", r"\1\\\2", "".join(parts))  # not a list or a heading
