"""Music: MIDI files, performance events, and chorales on a grid."""

from .chorales import grid_of, read_chorales
from .languages import EVENTS, decode, encode, name
from .midi import Note, Song, read_midi, stretched, write_midi

__all__ = ["EVENTS", "Note", "Song", "decode", "encode", "grid_of", "name", "read_chorales", "read_midi", "stretched"]
__all__ += ["write_midi"]
