"""The backward pass of a graph, played step by step."""

from .view import Playback, playback

__all__ = ["playback", "Playback"]
