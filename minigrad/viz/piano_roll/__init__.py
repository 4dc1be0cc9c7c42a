"""Notes over time, to see and to hear, with what each looked at: ``viz.piano_roll``."""

from .view import PianoRoll, piano_roll

__all__ = ["PianoRoll", "piano_roll"]
