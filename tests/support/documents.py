"""Runs the Python examples of a Markdown page, in order and in one namespace, and compares their output.

    python -m tests.support.documents README.md

A block of ```text after a block of ```python is its output ("..." stands for anything). A block of ```python that
begins with ">>>" is a session, as in doctest. Each page runs in a separate process: names, seeds and settings of its
examples do not reach other tests.
"""

import contextlib
import doctest
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int  # of its first line of text, from 1
    follows: bool  # whether only white space separates it from the block before


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    result, end = [], 0
    for match in FENCE.finditer(page):
        lines = [line.removeprefix(match["indent"]) for line in match["text"].splitlines()]
        line = page.count("\n", 0, match.start("text")) + 1
        follows = bool(result) and not page[end : match.start()].strip()
        result.append(Block(match["language"], "\n".join(lines) + "\n", line, follows))
        end = match.end()
    return result


def run(path: Path) -> list[str]:
    """Run a page's examples; returns the errors."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    errors = []
    page = blocks(path.read_text(encoding="utf-8"))
    for block, after in zip(page, [*page[1:], None], strict=True):
        if block.language != "python":
            continue
        output = after.text if after and after.language == "text" and after.follows else None
        if block.text.startswith(">>> "):
            errors += _run_session(block, namespace, path)
        else:
            errors += _run_program(block, output, namespace, path)
    return errors


def _run_program(block: Block, output: str | None, namespace: dict[str, Any], path: Path) -> list[str]:
    """Run a block under the page's line numbers, and compare its output with ``output``."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    if output is None or doctest.OutputChecker().check_output(output, printed.getvalue(), OPTIONS):
        return []
    return [f"{path}:{block.line} prints\n{printed.getvalue()}\nand not\n{output}"]


def _run_session(block: Block, namespace: dict[str, Any], path: Path) -> list[str]:
    """Run a block of ">>> " lines, and compare their results."""
    name = f"{path.name}:{block.line}"
    session = doctest.DocTestParser().get_doctest(block.text, namespace, name, str(path), block.line - 1)
    session.globs = namespace  # the parser's namespace is a copy
    report = io.StringIO()
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(session, out=report.write, clear_globs=False)
    return [report.getvalue()] if result.failed else []


if __name__ == "__main__":
    problems = run(Path(sys.argv[1]))
    print("\n".join(problems))
    sys.exit(bool(problems))
