"""DOT to a picture: by the program ``dot`` if there is one, else by pygraphviz, which brings Graphviz along.

Always in a child process: a layout cannot be stopped from within, and some inputs have crashed it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Literal

Format = Literal["svg", "png", "pdf"]
_DPI = 144  # of a PNG
_CODE = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


class TooSlowError(TimeoutError):
    """The layout did not end within its time."""


def renderer() -> Literal["dot", "pygraphviz"] | None:
    """What draws: the program, the package, or nothing."""
    if shutil.which("dot"):
        return "dot"
    return "pygraphviz" if find_spec("pygraphviz") else None


def render(source: str, format: Format, seconds: float = 10.0) -> bytes:
    """A picture of some DOT. Raises TooSlowError: it took longer than ``seconds``; RuntimeError: nothing here can
    draw, or it failed."""
    program = renderer()
    if program is None:
        raise RuntimeError(
            f"nothing here draws {format.upper()}: pip install 'minigrad[viz]' brings Graphviz along (so "
            "does pip install pygraphviz), or install the program dot. SVG and HTML need neither"
        )
    if format == "png":
        source = source.replace("graph [", f"graph [dpi={_DPI}, ", 1)
    command = ["dot", f"-T{format}"] if program == "dot" else [sys.executable, "-P", "-c", _CODE, format]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        raise TooSlowError(f"the layout took longer than {seconds:g} s") from late
    if done.returncode or not done.stdout:
        reason = done.stderr.decode(errors="replace").strip()[-500:] or f"it ended with {done.returncode}"
        raise RuntimeError(f"{program} could not draw: {reason}")
    return done.stdout
