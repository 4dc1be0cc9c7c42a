"""Finds sentences that a native engineer would not write, and names that are participles (``english.toml`` lists both):

    python docs/english.py                fail if there are more than the limits allow
    python docs/english.py FILES...       print each place in these files

It reads the sentences of Markdown outside code, of docstrings, comments and messages, and the names of tests.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PATTERNS = [(re.compile(pattern), advice) for pattern, advice in RULES["sentences"].items()]
ANY = re.compile("|".join(f"(?:{pattern})" for pattern in RULES["sentences"]))
PARTICIPLES = frozenset(RULES["names"]["participles"].split())
FOLDERS = ("minigrad", "models", "examples", "tests", "benchmarks", "docs")
SUFFIXES = (".py", ".md")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(*])|\n\s*\n|\n\s*(?:[-*]|\d\.) |\|")
Finding = tuple[int, str, str]  # a line, the text, and the advice; "" if nothing is wrong


def main(arguments: list[str]) -> int:
    """Run the command line. Returns 1 if a limit is exceeded."""
    paths, status = [Path(argument).resolve() for argument in arguments] or files(), 0
    for kind, search, unit in (("sentences", sentences, 100), ("names", names, 1000)):
        findings = [(path, *finding) for path in paths for finding in search(path)]
        bad = [finding for finding in findings if finding[-1]]
        for path, line, text, advice in bad if arguments else ():
            print(f"{path.relative_to(ROOT)}:{line}: {text[:200]} [{advice}]")
        share, limit = unit * len(bad) / max(len(findings), 1), RULES["limits"][kind]
        print(f"{len(bad):,} of {len(findings):,} {kind}: {share:.2f} of {unit:,}, at most {limit}")
        status |= not arguments and share > limit
    return status


def files() -> list[Path]:
    """The project's Python and Markdown files."""
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return sorted(path for path in (*below, *ROOT.glob("*.md"), *ROOT.glob("*.py")) if "node_modules" not in path.parts)


def sentences(path: Path) -> Iterator[Finding]:
    """The sentences of a file."""
    for start, text in texts(path):
        at = 0
        for match in (*END.finditer(text), None):
            piece = text[at : match.start() if match else None]
            words = re.sub(r"`[^`]*`|\]\([^)]*\)", "x", " ".join(piece.split()).lstrip("-*|#> "))
            if words.count(" ") > 1:
                line = start + text.count("\n", 0, at + len(piece) - len(piece.lstrip()))
                matches = (advice for pattern, advice in PATTERNS if pattern.search(words)) if ANY.search(words) else ()
                yield line, words, next(iter(matches), "")
            at = match.end() if match else 0


def names(path: Path) -> Iterator[Finding]:
    """The names that a Python file binds: variables and parameters."""
    for node in nodes(path) if path.suffix == ".py" else ():
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            name = node.arg if isinstance(node, ast.arg) else node.id
            yield node.lineno, name, "a noun: what it is" if name.strip("_") in PARTICIPLES else ""


@cache
def nodes(path: Path) -> list[ast.AST]:
    """The nodes of a program."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file: each piece, and the line on which it begins."""
    whole = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield 1, blank(r"^ *(```|~~~)(.|\n)*?^ *\1 *$", whole)
        return
    yield from comments(whole)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body[0] for node in nodes(path) if isinstance(node, documented) and ast.get_docstring(node)]
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ").capitalize()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield node.lineno, blank(r"^ *>>>.*(\n.*\S.*)*", node.value)
            elif node.value.count(" ") > 3 and "tests" not in path.parts:
                yield node.lineno, node.value


def blank(pattern: str, text: str) -> str:
    """A text without its matching parts. The line numbers stay the same."""
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE)


def comments(whole: str) -> Iterator[tuple[int, str]]:
    """The comments of a program; consecutive lines form one comment."""
    start, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(whole).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|# (noqa|type:|fmt:|pragma)", token.string):
            continue
        if lines and token.start[0] == start + len(lines) and token.line.lstrip().startswith("#"):
            lines.append(token.string.lstrip("# "))
            continue
        yield start, "\n".join(lines)
        start, lines = token.start[0], [token.string.lstrip("# ")]
    yield start, "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
