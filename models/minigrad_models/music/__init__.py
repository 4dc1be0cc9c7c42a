"""Music: MIDI files, the events of a performance, chorales on a grid, and sound."""

from .chorales import grid_of, notes_of, read_chorales
from .midi import Song, read_midi, write_midi
from .notes import Note, stretched
from .performance import EVENTS, decode, encode, name, parse
from .synthesis import write_wav

__all__ = ["EVENTS", "Note", "Song", "decode", "encode", "grid_of", "name", "notes_of", "parse", "read_chorales"]
__all__ += ["read_midi", "stretched", "write_midi", "write_wav"]
