"""A backward pass as it goes, as a page that plays it and as pictures of its steps: ``viz.playback``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.tape import Variable
from ..graph.graph_record import built
from ..graph.observe import watch_backward
from .playback_record import Delivery, Recorder, Step
from .playback_view import Playback

__all__ = ["Delivery", "Playback", "Step", "playback"]


def playback(loss_or_module: Variable | Callable[..., Any], /, *inputs: Any, **named: Any) -> Playback:
    """Backward, step by step: at each node its rule with file and line, the gradient that arrives, what goes
    out on each edge, and the running sum at each target.

        viz.playback(loss).save("backward.html")
        viz.playback(model, tokens)
        viz.playback(loss).save("third.svg", step=3)

    The backward pass is run here, by the engine and in its order, and touches no ``.grad``.

    Args:
        loss_or_module: a tensor whose graph is still there, which is kept; or a module or function, as for
            ``viz.graph``. Of a tensor that is no scalar, backward begins with its sum.

    Raises:
        RuntimeError: a backward has freed the graph; otherwise as ``viz.graph``.
    """
    nodes = built("playback", loss_or_module, inputs, named)
    if nodes.is_released():
        raise RuntimeError(
            "playback: a backward() has freed this graph, and its numbers are gone. Call playback before it, "
            "pass retain_graph=True to it, or give playback a module and its inputs (or a function that does "
            "not go back itself)"
        )
    recorder = Recorder(nodes.tape)
    watch_backward(nodes.root, recorder, free=not isinstance(loss_or_module, Variable))
    return Playback(nodes.graph(recorder), tuple(recorder.steps(nodes)))
