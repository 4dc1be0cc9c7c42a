"""A backward pass, step by step."""

from .playback_record import Delivery, Step
from .playback_view import Playback, playback

__all__ = ["Delivery", "Playback", "Step", "playback"]
