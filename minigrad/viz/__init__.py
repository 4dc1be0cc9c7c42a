"""Pictures of graphs, gradients and attention, each in one line of code, as files that open offline.

    from minigrad import viz

    viz.graph(loss)                       the compute graph, forward and backward
    viz.make_dot(loss)                    the same with torchviz's arguments, as a graphviz.Digraph
    viz.playback(model, x)                backward, step by step
    viz.explain(weight)                   the chain of rules behind a gradient, as text
    viz.attention(model, source, target)  all layers and heads
    viz.linked(model, source, target)     attention and graph on one page, linked to each other
    viz.trace(model, x)                   every intermediate value by name: to read, replace and patch

Each returns an object that shows itself in a notebook, or prints itself (``explain``); all except ``explain`` have
``show`` and ``save``. Pages (.html) and vector pictures (.svg) need only minigrad; PNG, PDF and charts need the ``viz``
extra, and pictures of graphs need Graphviz.

``playback`` and ``explain`` show the backward pass of a ``graph``; ``linked`` puts ``attention`` and graph side by
side; ``trace`` returns values instead of a picture, and a graph of changes. They use ``page`` (one HTML file, with
scripts and styles from assets/), ``view`` (saving and showing, also as PNG and PDF), ``vector`` (SVG), ``numbers``
(arrays) and ``palette`` (colours). ``minigrad_models.viz`` draws training runs, words, positions and music with these.
"""

# Functions share the names of their packages, so they are imported here eagerly.
from .attention import attention
from .explain import explain
from .graph import graph, make_dot
from .linked import linked
from .playback import playback
from .trace import trace

__all__ = ["attention", "explain", "graph", "linked", "make_dot", "playback", "trace"]


def __dir__() -> list[str]:
    """The functions; import other names from their modules."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
