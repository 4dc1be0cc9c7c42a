"""Music: MIDI files, the events of a performance, chorales on a grid, and sound."""

from .chorales import grid_of, read_chorales
from .midi import Song, read_midi, write_midi
from .notes import Note, stretched
from .performance import EVENTS, decode, encode, name
from .synthesis import write_wav

__all__ = ["EVENTS", "Note", "Song", "decode", "encode", "grid_of", "name", "read_chorales", "read_midi", "stretched"]
__all__ += ["write_midi", "write_wav"]
