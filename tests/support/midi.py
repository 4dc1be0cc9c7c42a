"""MIDI files byte by byte, as in the standard, so that tests can write files that no library would."""

import os
import struct
from pathlib import Path

DATA = Path(os.environ["MINIGRAD_DATA"])
PERFORMANCES = sorted((DATA / "midi").glob("*.mid"))
CHORALES = DATA / "jsb" / "Jsb16thSeparated.json"

Event = tuple[int, bytes]  # ticks since the event before, message


def on(pitch: int, velocity: int = 64, channel: int = 0) -> bytes:
    return bytes([0x90 | channel, pitch, velocity])


def off(pitch: int, channel: int = 0) -> bytes:
    return bytes([0x80 | channel, pitch, 0])


def pedal(value: int, channel: int = 0) -> bytes:
    return bytes([0xB0 | channel, 64, value])


def tempo(microseconds: int) -> bytes:
    return b"\xff\x51\x03" + microseconds.to_bytes(3, "big")


def variable(number: int) -> bytes:
    """Seven bits per byte; all bytes except the last have the high bit."""
    parts = [number & 127]
    while number := number >> 7:
        parts.append(128 | (number & 127))
    return bytes(reversed(parts))


def track(*events: Event) -> bytes:
    body = b"".join(variable(delta) + message for delta, message in (*events, (0, b"\xff\x2f\0")))
    return b"MTrk" + struct.pack(">I", len(body)) + body


def midi(*tracks: bytes, kind: int = 1, division: int = 480) -> bytes:
    """A file of tracks; ``division`` has 16 bits."""
    return b"MThd" + struct.pack(">IHHH", 6, kind, len(tracks), division) + b"".join(tracks)
