"""Notes over time, to see and to hear, with what each looked at: ``piano_roll``."""

from .piano_roll_view import PianoRoll, piano_roll

__all__ = ["PianoRoll", "piano_roll"]
