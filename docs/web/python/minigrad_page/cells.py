"""Runs a page's programs: cells that share a namespace, with output, errors and pictures as messages to the page.

A message is a dict that JSON can hold. The page asks with ``act``; what a program writes or shows goes out through
``emit`` while it runs. Text stays text all the way: the page never takes it for markup.
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

MOST_TEXT = 200_000  # characters of output of a cell; what comes after is counted, not shown
MOST_MESSAGES = 200  # of a stream at once; then a line waits for the next, EVERY seconds long
EVERY = 0.05
MOST_COMPLETIONS = 60
MOST_VIEWS = 8  # graphs on the page whose numbers can be changed: the last ones


namespace: dict[str, Any] = {}
_torch = ExitStack()  # ends what lets a program's ``import torch`` give minigrad
graphs: dict[int, tuple[Any, Any]] = {}  # by number: a graph on the page as the program drew it, and as it is now
_numbers = itertools.count()
_interruptible = False  # a program runs: what runs around it is not to be stopped halfway


def _interrupt(_number: int, _frame: Any) -> None:
    """What Stop does."""
    if _interruptible:
        raise KeyboardInterrupt


if sys.platform == "emscripten":
    signal.signal(signal.SIGINT, _interrupt)


def emit(message: dict[str, Any]) -> None:
    """Send a message to the page."""
    import _page  # the worker's (worker.js)

    _page.say(_json(message))


def _json(value: Any) -> str:
    """JSON as browsers read it: of NaN and the infinities their names, as on the pages of ``viz``."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        from minigrad.viz.page import plain  # seldom needed, and slow to import

        return json.dumps(plain(value))


class Stream(io.TextIOBase):
    """Standard output or error, which goes to the page line by line, up to MOST_TEXT. Many lines at once go together:
    the page would do nothing else."""

    def __init__(self, name: str, send: Callable[[dict[str, Any]], None]):
        self.name, self._send = name, send
        self._held: list[str] = []
        self._sent = self._messages = 0
        self._last = 0.0

    def writable(self) -> bool:
        """As of a file that is written."""
        return True

    def write(self, text: str) -> int:
        """Keep what has no line's end yet, so that a bar of many small writes is few messages."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._held.append(text)
        if ("\n" in text or "\r" in text or len(self._held) > 100) and self._may_go():
            self.flush()
        return len(text)

    def _may_go(self) -> bool:
        """Whether there were few messages so far, or none for a while."""
        now = time.monotonic()
        if self._messages >= MOST_MESSAGES and now - self._last < EVERY:
            return False
        self._messages, self._last = self._messages + 1, now
        return True

    def flush(self) -> None:
        """Send what is held."""
        text = "".join(self._held)
        self._held.clear()
        room = MOST_TEXT - self._sent
        self._sent += len(text)
        if text and room > 0:
            more = "\n[more than is shown here]\n" if len(text) > room else ""
            self._send({"type": "out", "stream": self.name, "text": text[:room] + more})


def act(message: str) -> str:
    """Do what a message asks, and answer: JSON in, JSON out. Of errors of the program's own the answer tells."""
    asked = json.loads(message)
    return _json(ACTS[asked["type"]](asked))


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Run a cell: {"code", "name"}. What its last expression is worth is shown, as in a notebook."""
    global _interruptible
    name = f"<{asked.get('name', 'program')}>"
    out, err = Stream("stdout", emit), Stream("stderr", emit)
    saved = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    showing.shown_by(display)
    try:
        _interruptible = True
        with watch(lambda step, loss: emit({"type": "loss", "step": step, "loss": loss})):
            value = _value_of(asked["code"], name)
            if value is not None:
                namespace["_"] = value
                display(value)
        return {"error": None}
    except BaseException as error:  # of any kind: it is the reader's, who is shown it
        _interruptible = False
        is_end = isinstance(error, SystemExit) and not error.code  # exit() is no mistake
        return {"error": None if is_end else told(error, name)}
    finally:
        _interruptible = False
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = saved


def _value_of(code: str, name: str) -> Any:
    """Run all statements; the value of the last, if it is an expression."""
    namespace.setdefault("__name__", "__main__")
    namespace.setdefault("__builtins__", builtins)
    namespace.setdefault("display", display)
    _give_torch(code)
    linecache.cache[name] = (len(code), None, io.StringIO(code).readlines(), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)  # this file's __future__ is not the program's
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)


def _give_torch(code: str) -> None:
    """Let ``import torch`` of a program give minigrad: there is no PyTorch in a browser."""
    if "torch" not in sys.modules and re.search(r"^\s*(import|from) torch\b", code, re.MULTILINE):
        print("note: torch is minigrad here, as after minigrad.compat.as_torch()", file=sys.stderr)
        _torch.enter_context(minigrad.compat.as_torch())


class Handle:
    """What is shown can change: IPython's, so that a program runs there as well."""

    def __init__(self, name: str):
        self.display_id = name

    def update(self, value: Any) -> None:
        """Show another value in its place."""
        emit({**_shown(value), "id": self.display_id})


def display(*values: Any, display_id: str | bool | None = None, **_: Any) -> Handle | None:
    """Show values by the richest form each has: a page in a frame, a picture, or its repr. As IPython's."""
    print(end="", flush=True)  # what was written before stands before it
    handle = None
    if display_id:
        handle = Handle(f"shown {next(_numbers)}" if display_id is True else display_id)
    for value in values:
        emit({**_shown(value), **({"id": handle.display_id} if handle else {})})
    return handle


def _shown(value: Any) -> dict[str, Any]:
    """The message that shows a value."""
    views = sys.modules.get("minigrad.viz.view")  # which takes a while to import, and is, if there is a view
    if views and isinstance(value, views.View):
        page = value.page()
        shown = {"type": "out", "stream": "html", "text": page.html(), "height": page.height, "title": page.title}
        return {**shown, "graph": _kept(value)} if getattr(value, "replay", None) else shown
    title = type(value).__name__
    for method, stream in (("_repr_svg_", "svg"), ("_repr_html_", "html")):
        made = None if isinstance(value, type) else getattr(value, method, None)
        if callable(made) and isinstance(content := made(), str):
            return {"type": "out", "stream": stream, "text": content, "height": None, "title": title}
    return {"type": "out", "stream": "result", "text": repr(value)[:MOST_TEXT] + "\n"}


def _kept(graph: Any) -> int:
    """Keep a graph on the page for changes of its numbers; its number."""
    number = next(_numbers)
    graphs[number] = graph, graph
    while len(graphs) > MOST_VIEWS:
        del graphs[next(iter(graphs))]
    return number


def change(asked: dict[str, Any]) -> dict[str, Any]:
    """Change a number of a graph on the page: {"graph", "node", "at", "text"}, or {"graph", "undo"}."""
    if asked["graph"] not in graphs:
        return {"failed": "what this was computed from is gone: run the program again"}
    first, now = graphs[asked["graph"]]
    try:
        now = first if asked.get("undo") else now.change(asked["node"], float(asked["text"]), asked["at"])
    except (ValueError, LookupError, RuntimeError) as error:
        return {"failed": str(error)}
    graphs[asked["graph"]] = first, now
    return {"changed": now.page().data}


def told(error: BaseException, name: str) -> dict[str, Any]:
    """An error as the page shows it: its traceback, and those of its causes, from the program's own first line on, and
    which line that is."""
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


def complete(asked: dict[str, Any]) -> dict[str, Any]:
    """What the name before the cursor could become: {"text"} is the dotted name as far as it is written."""
    completer = rlcompleter.Completer({**vars(builtins), **namespace})
    found: list[str] = []
    with suppress(Exception):  # of attributes that the program computes
        while len(found) < MOST_COMPLETIONS and (name := completer.complete(asked["text"], len(found))) is not None:
            found.append(name.rstrip("() :"))
    known = [name for name in dict.fromkeys(found) if not name.rpartition(".")[2].startswith("_")]
    return {"names": [{"name": name, "keyword": keyword.iskeyword(name)} for name in known]}


def reset(_asked: dict[str, Any]) -> dict[str, Any]:
    """Forget all names, and put back the seed, the default dtype, whether gradients are wanted, and torch's name."""
    _torch.close()
    namespace.clear()
    graphs.clear()
    minigrad.manual_seed(0)
    minigrad.set_grad_enabled(True)
    minigrad.set_default_dtype(minigrad.float32)
    return {}


def translator(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of the translator's page, and tell the losses of its training."""
    from .translate import act  # what other pages do without

    with watch(lambda step, loss: emit({"type": "loss", "step": step, "loss": loss})):
        return act(asked)


Act = Callable[[dict[str, Any]], dict[str, Any]]
ACTS: dict[str, Act] = {"run": run, "complete": complete, "change": change, "reset": reset, "translator": translator}
