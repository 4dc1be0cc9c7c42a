"""Runs a page's programs: cells that share a namespace, with output, errors and pictures as messages to the page.

A message is a JSON object. The page makes requests with ``act``; a running program's output is sent with ``emit``. Text
stays text all the way: the page never interprets it as markup.
"""

from __future__ import annotations

import ast
import builtins
import io
import itertools
import json
import keyword
import linecache
import re
import rlcompleter
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import minigrad
from minigrad.utils import showing

from .losses import watch

MOST_TEXT = 200_000  # characters of a cell's output; more is counted, but not shown
MOST_MESSAGES = 200  # of a stream in a row; after that, lines are collected for EVERY seconds
EVERY = 0.05
MOST_COMPLETIONS = 60
MOST_VIEWS = 8  # the last graphs on the page, whose numbers can be changed


namespace: dict[str, Any] = {}
_torch = ExitStack()  # the context in which ``import torch`` imports minigrad
graphs: dict[int, tuple[Any, Any]] = {}  # by number: a graph on the page, as first drawn, and its present state
_numbers = itertools.count()
_interruptible = False  # whether a program is running: only then may Stop interrupt


def _interrupt(_number: int, _frame: Any) -> None:
    """Handle the Stop button."""
    if _interruptible:
        raise KeyboardInterrupt


if sys.platform == "emscripten":
    signal.signal(signal.SIGINT, _interrupt)


def emit(message: dict[str, Any]) -> None:
    """Send a message to the page."""
    import _page  # the worker's (worker.js)

    _page.say(_json(message))


def _json(value: Any) -> str:
    """JSON for browsers: NaN and infinities become their names, as on the pages of ``viz``."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        from minigrad.viz.page import plain  # seldom needed, and slow to import

        return json.dumps(plain(value))


class Stream(io.TextIOBase):
    """Standard output or error, sent to the page line by line, up to MOST_TEXT. Many lines in a row are sent together,
    since they would keep the page busy."""

    def __init__(self, name: str, send: Callable[[dict[str, Any]], None]):
        self.name, self._send = name, send
        self._held: list[str] = []
        self._sent = self._messages = 0
        self._last = 0.0

    def writable(self) -> bool:
        """Like a file open for writing."""
        return True

    def write(self, text: str) -> int:
        """Collect text until a line ends, so that a progress bar with many small writes sends few messages."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._held.append(text)
        if ("\n" in text or "\r" in text or len(self._held) > 100) and self._may_go():
            self.flush()
        return len(text)

    def _may_go(self) -> bool:
        """Whether there have been few messages so far, or none for a while."""
        now = time.monotonic()
        if self._messages >= MOST_MESSAGES and now - self._last < EVERY:
            return False
        self._messages, self._last = self._messages + 1, now
        return True

    def flush(self) -> None:
        """Send the collected text."""
        text = "".join(self._held)
        self._held.clear()
        remaining = MOST_TEXT - self._sent
        self._sent += len(text)
        if text and remaining > 0:
            more = "\n[more than is shown here]\n" if len(text) > remaining else ""
            self._send({"type": "out", "stream": self.name, "text": text[:remaining] + more})


def act(message: str) -> str:
    """Process a request of the page: JSON in, JSON out. The answer also reports errors of the program."""
    request = json.loads(message)
    return _json(ACTS[request["type"]](request))


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run a cell: {"code", "name"}. The value of its last expression is shown, as in a notebook. With a "check" of an
    exercise, the answer has "wrong", the reason why the cell is wrong, or ""."""
    global _interruptible
    name = f"<{request.get('name', 'program')}>"
    out, err = Stream("stdout", emit), Stream("stderr", emit)
    saved = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    showing.shown_by(display)
    try:
        _interruptible = True
        with watch(lambda step, loss: emit({"type": "loss", "step": step, "loss": loss})):
            value = _value_of(request["code"], name)
            if value is not None:
                namespace["_"] = value
                display(value)
        if check := request.get("check"):
            from minigrad_models.course.expect import verdict  # only chapters of the course need it

            return {"error": None, "wrong": verdict(check, namespace)}
        return {"error": None}
    except BaseException as error:  # any kind is shown to the reader
        _interruptible = False
        is_end = isinstance(error, SystemExit) and not error.code  # exit() is not an error
        return {"error": None if is_end else told(error, name)}
    finally:
        _interruptible = False
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = saved


def _value_of(code: str, name: str) -> Any:
    """Run all statements, and return the value of the last if it is an expression."""
    namespace.setdefault("__name__", "__main__")
    namespace.setdefault("__builtins__", builtins)
    namespace.setdefault("display", display)
    _give_torch(code)
    linecache.cache[name] = (len(code), None, io.StringIO(code).readlines(), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)  # without this file's __future__
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)


def _give_torch(code: str) -> None:
    """Make a program's ``import torch`` import minigrad: PyTorch does not run in browsers."""
    if "torch" not in sys.modules and re.search(r"^\s*(import|from) torch\b", code, re.MULTILINE):
        print("note: torch is minigrad here, as after minigrad.compat.as_torch()", file=sys.stderr)
        _torch.enter_context(minigrad.compat.as_torch())


class Handle:
    """A handle for changing a shown value, with IPython's interface, so that programs also run there."""

    def __init__(self, name: str):
        self.display_id = name

    def update(self, value: Any) -> None:
        """Replace the shown value."""
        emit({**_shown(value), "id": self.display_id})


def display(*values: Any, display_id: str | bool | None = None, **_: Any) -> Handle | None:
    """Show values in the richest form each has, like IPython: a page in a frame, a picture, or its repr."""
    print(end="", flush=True)  # earlier output comes first
    handle = None
    if display_id:
        handle = Handle(f"shown {next(_numbers)}" if display_id is True else display_id)
    for value in values:
        emit({**_shown(value), **({"id": handle.display_id} if handle else {})})
    return handle


def _shown(value: Any) -> dict[str, Any]:
    """The message that shows a value."""
    views = sys.modules.get("minigrad.viz.view")  # slow to import, and already imported if there is a view
    if views and isinstance(value, views.View):
        page = value.page()
        message = {"type": "out", "stream": "html", "text": page.html(), "height": page.height, "title": page.title}
        return {**message, "graph": _kept(value)} if getattr(value, "replay", None) else message
    title = type(value).__name__
    for method, stream in (("_repr_svg_", "svg"), ("_repr_html_", "html")):
        render = None if isinstance(value, type) else getattr(value, method, None)
        if callable(render) and isinstance(content := render(), str):
            return {"type": "out", "stream": stream, "text": content, "height": None, "title": title}
    return {"type": "out", "stream": "result", "text": repr(value)[:MOST_TEXT] + "\n"}


def _kept(graph: Any) -> int:
    """Keep a graph, so that the page can change its numbers; returns its number."""
    number = next(_numbers)
    graphs[number] = graph, graph
    while len(graphs) > MOST_VIEWS:
        del graphs[next(iter(graphs))]
    return number


def change(request: dict[str, Any]) -> dict[str, Any]:
    """Change a number of a graph on the page: {"graph", "node", "at", "text"}, or {"graph", "undo"}."""
    if request["graph"] not in graphs:
        return {"failed": "the data behind this graph is gone: run the program again"}
    first, now = graphs[request["graph"]]
    try:
        now = first if request.get("undo") else now.change(request["node"], float(request["text"]), request["at"])
    except (ValueError, LookupError, RuntimeError) as error:
        return {"failed": str(error)}
    graphs[request["graph"]] = first, now
    return {"changed": now.page().data}


def told(error: BaseException, name: str) -> dict[str, Any]:
    """An error in the page's form: its traceback and its causes' tracebacks, starting at the program's first line, and
    the line number."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == name]
    line = own[-1].lineno if own else getattr(error, "lineno", None)
    if isinstance(error, KeyboardInterrupt):
        return {"kind": "KeyboardInterrupt", "text": "stopped\n", "line": line}
    whole: Any = traceback.TracebackException.from_exception(error)
    part = whole
    while part is not None:
        begin = next((i for i, frame in enumerate(part.stack or ()) if frame.filename == name), None)
        part.stack = None if begin is None else traceback.StackSummary.from_list(part.stack[begin:])
        part = part.__cause__ or part.__context__
    return {"kind": type(error).__name__, "text": "".join(whole.format())[-MOST_TEXT:], "line": line}


def complete(request: dict[str, Any]) -> dict[str, Any]:
    """Completions of the dotted name before the cursor: {"text"} is the part typed so far."""
    completer = rlcompleter.Completer({**vars(builtins), **namespace})
    names: list[str] = []
    with suppress(Exception):  # raised by attributes that the program computes
        while len(names) < MOST_COMPLETIONS and (name := completer.complete(request["text"], len(names))) is not None:
            names.append(name.rstrip("() :"))
    public = [name for name in dict.fromkeys(names) if not name.rpartition(".")[2].startswith("_")]
    return {"names": [{"name": name, "keyword": keyword.iskeyword(name)} for name in public]}


def reset(_request: dict[str, Any]) -> dict[str, Any]:
    """Forget all names, and reset the seed, the default dtype, gradient recording, and torch's name."""
    _torch.close()
    namespace.clear()
    graphs.clear()
    minigrad.manual_seed(0)
    minigrad.set_grad_enabled(True)
    minigrad.set_default_dtype(minigrad.float32)
    return {}


def translator(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of the translator's page, and report the losses during its training."""
    from .translate import act  # not needed by other pages

    with watch(lambda step, loss: emit({"type": "loss", "step": step, "loss": loss})):
        return act(request)


Act = Callable[[dict[str, Any]], dict[str, Any]]
ACTS: dict[str, Act] = {"run": run, "complete": complete, "change": change, "reset": reset, "translator": translator}
