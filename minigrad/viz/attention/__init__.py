"""The attention of all layers and heads, as a single offline page and as images."""

from .attention_data import Attention, Candidate, Kind, Layer
from .attention_view import AttentionView, attention

__all__ = ["Attention", "AttentionView", "Candidate", "Kind", "Layer", "attention"]
