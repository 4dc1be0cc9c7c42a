"""Pictures of graphs, gradients, attention and training: one line each, files that open without a network.

    from minigrad import viz

    viz.graph(loss)                       the compute graph, forward and backward
    viz.playback(model, x)                backward, step by step
    viz.attention(model, source, target)  all layers and heads
    viz.training("runs/first")            curves and weights over the steps
    viz.positional_encoding(50, 128)      sinusoids, as numbers and as a picture
    viz.embedding(weight, words)          words near each other
    viz.explain(weight)                   the chain of rules that made a gradient, as text

Each returns an object that shows itself in a notebook, and has ``save``.
"""

# Functions bear the names of the packages that they are in: so they are imported here, and at once.
from .attention import attention
from .embedding import embedding
from .explain import explain
from .graph import graph
from .playback import playback
from .positional_encoding import positional_encoding
from .training import training

__all__ = ["attention", "embedding", "explain", "graph", "playback", "positional_encoding", "training"]
