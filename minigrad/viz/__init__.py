"""Pictures of graphs, gradients and attention in one line of code, saved as files that work offline.

    from minigrad import viz

    viz.graph(loss)                       the compute graph, forward and backward
        viz.make_dot(loss)                    the graph as a graphviz.Digraph, with torchviz's arguments
        viz.playback(model, x)                the backward pass, step by step
    viz.explain(weight)                   the chain of rules behind a gradient, as text
    viz.attention(model, source, target)  all layers and heads
    viz.linked(model, source, target)     attention and graph on one page, linked to each other
    viz.trace(model, x)                   every intermediate value by name, to read, replace or patch

Each function returns an object that displays itself in a notebook. ``explain`` returns text; all other results have
``show`` and ``save``. Pages (.html) and vector images (.svg) require only minigrad; PNG, PDF and charts require the
``viz`` extra, and images of graphs require Graphviz.

``playback`` and ``explain`` show the backward pass of a ``graph``. ``linked`` puts ``attention`` and a graph side by
side. ``trace`` returns values, and can draw the graph of a modified run. All are built on ``page`` (one HTML file with
scripts and styles from assets/), ``view`` (saving and showing), ``vector`` (SVG), ``numbers`` (arrays) and ``palette``
(colours). ``minigrad_models.viz`` uses these to draw training runs, words, positions and music.
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
    """List only the functions; other names must be imported from their modules."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
