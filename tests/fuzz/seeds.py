"""Files to corrupt: a small run of the translator, and files of every type that has a reader."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections import OrderedDict
from pathlib import Path

import minigrad as mg
from minigrad_models.commands import minigrad_command as cli
from minigrad_models.music import Note, write_midi

PAIRS = "one cat\tun gatto\ntwo dogs\tdue cani\nthe «end»\tla fine\n"
_SIZES = "--layers 1 --d-model 16 --d-ff 32 --heads 2 --vocabulary 80 --batch-tokens 100 --warm-up 1 --average 2"
SIZES = _SIZES.split()


def command(folder: Path, *more: str) -> list[str]:
    """The command that trains a small model into ``run`` in a folder."""
    data = folder / "c.tsv"
    if not data.exists():
        data.write_text(PAIRS * 10, encoding="utf-8")
    return ["train", "--data", str(data), "--run", str(folder / "run"), *SIZES, *more]


def trained(folder: Path, *more: str) -> Path:
    """A folder with a run of a few steps. Returns the run's folder."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = cli.main(command(folder, "--steps", "2", *more))
    if status:
        raise RuntimeError(f"the training of the seed ended with {status}")
    return folder / "run"


def files(folder: Path) -> dict[str, bytes]:
    """Valid files by name; the extension selects the reader."""
    run = trained(folder)
    state = mg.nn.Linear(3, 2).state_dict()
    mg.save(OrderedDict(state, row=state["weight"][1]), folder / "weights.safetensors")
    mg.save({"z": mg.zeros(2, dtype=mg.complex128), "n": [1, 2.5, "x", {"a": (1,)}]}, folder / "objects.pt")
    contents = {
        "model.safetensors": (run / "model.safetensors").read_bytes(),
        "last.safetensors": (run / "last.safetensors").read_bytes(),
        "weights.safetensors": (folder / "weights.safetensors").read_bytes(),
        "objects.pt": (folder / "objects.pt").read_bytes(),
        "settings.toml": (run / "settings.toml").read_bytes(),
        "log.jsonl": (run / "log.jsonl").read_bytes() + b'{"step": 3, "loss": 1.5, "evaluation": {"bleu": 2}}\n',
        "pairs.tsv": PAIRS.encode(),
        "pairs.tsv.gz": gzip.compress(PAIRS.encode()),
        "chorales.json": b'{"train": [[[60, 57, 53, -1], [62, 57, 53, 41]]], "valid": [], "test": []}',
        "model.safetensors.index.json": b'{"metadata": {}, "weight_map": {"weight": "weights.safetensors"}}',
    }
    with contextlib.suppress(ImportError):
        contents["piece.mid"] = piece(folder)
    with contextlib.suppress(ImportError):
        import torch

        for name, zipped in (("torch.pt", True), ("torch_old.pt", False)):
            buffer = io.BytesIO()
            content = {"w": torch.zeros(2, 3), "step": 1, "groups": [{"lr": 0.1}]}
            torch.save(content, buffer, _use_new_zipfile_serialization=zipped)
            contents[name] = buffer.getvalue()
    return contents


def piece(folder: Path) -> bytes:
    """A MIDI file with two tracks and a pedal. Raises ImportError if mido is missing."""
    notes = [Note(60 + i % 12, 80, i / 10, i / 10 + 0.5, i % 2) for i in range(40)]
    data = write_midi(folder / "piece.mid", notes, names={0: "right", 1: "left"}).read_bytes()
    pedal = b"MTrk\0\0\0\x0c\0\xb0\x40\x7f\x87\x68\x40\0\0\xff\x2f\0"
    return data[:11] + bytes([data[11] + 1]) + data[12:] + pedal  # adds a track
