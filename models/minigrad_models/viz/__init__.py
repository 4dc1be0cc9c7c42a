"""Pictures of what models do: ``training("runs/first")``, its curves and weights; ``piano_roll("song.mid")``, music to
see and to hear. They are drawn by ``minigrad.viz``, and save and show themselves as its pictures do."""

from .piano_roll import piano_roll
from .training import training

__all__ = ["piano_roll", "training"]
