"""Pictures of graphs, gradients and attention: one line each, files that open without a network.

    from minigrad import viz

    viz.graph(loss)                       the compute graph, forward and backward
    viz.make_dot(loss)                    the same by torchviz's arguments, as a graphviz.Digraph
    viz.playback(model, x)                backward, step by step
    viz.explain(weight)                   the chain of rules behind a gradient, as text
    viz.attention(model, source, target)  all layers and heads
    viz.linked(model, source, target)     attention and graph on one page, each a way to the other
    viz.trace(model, x)                   every intermediate value by its name: to read, replace and patch

Each returns an object that shows itself in a notebook, or prints itself (``explain``); the others have ``show`` and
``save``. Pages (.html) and vector pictures (.svg) need minigrad alone; PNG, PDF and charts need the extra ``viz``, and
pictures of graphs Graphviz.

``playback`` and ``explain`` show the backward pass of what ``graph`` records; ``linked`` has ``attention`` and graph
side by side; ``trace`` gives values in place of a picture, and a graph of what was changed. All are made of ``page``
(one HTML file, with scripts and styles from assets/), ``view`` (what can be saved and shown, as PNG and PDF too),
``vector`` (SVG), ``numbers`` (arrays) and ``palette`` (colours).
``minigrad_models.viz`` draws trainings, words, positions and music by them.
"""

# Functions bear the names of the packages that they are in: so they are imported here, and at once.
from .attention import attention
from .explain import explain
from .graph import graph, make_dot
from .linked import linked
from .playback import playback
from .trace import trace

__all__ = ["attention", "explain", "graph", "linked", "make_dot", "playback", "trace"]


def __dir__() -> list[str]:
    """The functions; other names have paths of their own."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
