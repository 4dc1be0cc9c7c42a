"""Small files that describe huge values: doubled, deep, wide and recursive, at every position of every format.

The positions are each value that a valid pickle pushes on its stack, each value and name in a JSON text or
a TOML file, and each byte of a MIDI file. A case may take five seconds and 500 MiB; a short error names the file.
"""

from __future__ import annotations

import json
import random
import struct
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import minigrad as mg
from minigrad_models.architectures.pretrained import read_config
from minigrad_models.gpt.gpt2 import GPT2
from minigrad_models.music import read_chorales
from minigrad_models.text import SubwordTokenizer
from minigrad_models.text.pretrained import read_tokenizer
from minigrad_models.training import read_checkpoint, read_log
from minigrad_models.translation import translation_settings as settings

from . import seeds
from .files import REFUSED, draw, play
from .pickles import BOMBS, DEEP, WIDE, legacy, places, replaced, valid, zipped
from .watch import Finding, watched

SECONDS, MEMORY = 5.0, 500 << 20  # CPU time; a second if the machine is idle
TOGETHER = 20  # cases per process
LONGEST_ERROR, LONGEST_TRACEBACK = 1_500, 20_000


class Case(NamedTuple):
    """A file, its reader, and its name."""

    name: str
    file: str
    content: Callable[[], bytes]
    reader: Callable[[Path], Any]


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each position and bomb in random order; its fault is "" if nothing went wrong."""
    every = [*pickled(), *written(folder), *played(folder)]
    rng.shuffle(every)
    for start in range(0, len(every), TOGETHER):
        batch = every[start : start + TOGETHER]
        is_quiet = not watched(partial(_read, folder, batch), (), memory=MEMORY)  # in one process, as a fork takes time
        for case in batch:
            yield Finding(case.name, "" if is_quiet else watched(partial(_read, folder, [case]), (), SECONDS, MEMORY))


def _read(folder: Path, batch: list[Case]) -> None:
    """Read files. Raises AssertionError as ``_read_one``, or if one takes more than ``SECONDS``."""
    for case in batch:
        path, start = folder / case.file, time.process_time()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(case.content())
        _read_one(case.reader, path)
        if time.process_time() - start > SECONDS:
            raise AssertionError(f"{case.name} takes too long")


def _read_one(reader: Callable[[Path], Any], path: Path) -> None:
    """Read a file. Raises AssertionError if its error is long, or does not name the file or its folder."""
    try:
        reader(path)
    except REFUSED as error:
        text, trace = str(error), "".join(traceback.format_exception(error))
        if len(text) > LONGEST_ERROR or len(trace) > LONGEST_TRACEBACK:
            raise AssertionError(f"a message of {len(text):,} letters: {text[:300]}") from None
        if not any(str(name) in text for name in (path, path.parent)):
            raise AssertionError(f"the file is not named: {text!r}") from None


def pickled() -> Iterator[Case]:
    """Each position of each valid pickle with each bomb, in both of PyTorch's formats."""
    for number, whole in enumerate(valid()):
        for place in places(whole):
            for bomb, value in BOMBS.items():
                for form in (zipped, legacy):
                    content = partial(_filled, form, whole, place, value)
                    yield Case(f"pickle {number} at {place}: {bomb}, {form.__name__}", "x.pt", content, mg.load)


def _filled(form: Callable[[bytes], bytes], whole: bytes, place: int, bomb: bytes) -> bytes:
    return form(replaced(whole, place, bomb))


_MARK = "a place for a bomb"
JSON: dict[str, str] = {
    "list deep": "[" * DEEP + "]" * DEEP,
    "list of 600 levels": "[" * 600 + "]" * 600,
    "object deep": '{"a":' * DEEP + "1" + "}" * DEEP,
    "list wide": f"[{'0,' * WIDE}0]",
    "lists wide": f"[{'[],' * (WIDE // 10)}0]",
    "object wide": "{" + ",".join(f'"{i}":0' for i in range(WIDE // 5)) + "}",
    "text": f'"{"x" * WIDE}"',
    "escapes": '"' + "\\u001b" * (WIDE // 6) + '"',
    "NUL": '"x\\u0000y"',
    "half": '"\\ud800"',
    "digits": "9" * 100_000,
    "huge": "1e400",
    "no number": "NaN",
    "negative": "-1",
    "long": str(1 << 62),
    "longer": str(1 << 70),
    "shape": f"[0, {1 << 62}]",
    "shape beyond": f"[0, {1 << 70}]",
    "65 axes": f"[{'1, ' * 64}1]",
    "100,000 axes": f"[{f'{1 << 62}, ' * 100_000}1]",
    "nothing": "null",
    "yes": "true",
}
TREES: dict[str, str] = {  # for the description in minigrad's files
    "list doubled": "[[]" + "".join(f', [{{"again": {i + 1}}}, {{"again": {i + 1}}}]' for i in range(60)) + "]",
    "list of itself": '[{"again": 0}]',
    "defaultdict deep": "["
    + ", ".join(f'{{"defaultdict": null, "items": [[0, {{"again": {max(i, 0)}}}]]}}' for i in range(60_000))
    + "]",
    "bytes repeated": "[" + '{"bytes": {"array": "weight"}},' * 100_000 + "0]",
    "device": f'{{"device": "{"x" * 100_000}"}}',
    "Size": '{"Size": [[[]], "x"]}',
}


def marked(tree: Any) -> Iterator[Any]:
    """Copies of plain data, each with the mark instead of one value or name."""
    yield _MARK
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for place, value in entries:
        for inner in marked(value):
            yield {**tree, place: inner} if isinstance(tree, dict) else [*tree[:place], inner, *tree[place + 1 :]]
        if isinstance(tree, dict):
            yield {(_MARK if key == place else key): entry for key, entry in tree.items()}


def written(folder: Path) -> Iterator[Case]:
    """Each value and name of each text, with each bomb."""
    for file, tree, form, reader, more in texts(folder):
        for number, copy in enumerate(marked(tree)):
            for bomb, value in {**JSON, **more}.items():
                content = partial(_spelled, form, copy, value)
                yield Case(f"{file}, place {number} of {reader.__name__}: {bomb}", file, content, reader)


def _spelled(form: Callable[[str], bytes], tree: Any, bomb: str) -> bytes:
    """The file of a text with a bomb instead of the mark; if the mark is a name, the bomb becomes a string."""
    mark = json.dumps(_MARK)
    serialized = json.dumps(tree)
    if f"{mark}: " in serialized:
        return form(serialized.replace(mark, bomb if bomb[0] == '"' else json.dumps(bomb[:WIDE])))
    return form(serialized.replace(mark, bomb))


Reading = tuple[str, Any, Callable[[str], bytes], Callable[[Path], Any], dict[str, str]]


def texts(folder: Path) -> Iterator[Reading]:
    """JSON and TOML files: name, content, writer, reader, and bombs for that file only."""
    contents = seeds.files(folder)
    weights = contents["weights.safetensors"]
    (folder / "weights.safetensors").write_bytes(weights)
    header = parts(weights)[0]
    yield "x.safetensors", header, partial(_headed, weights), mg.load, {}
    for tree in (json.loads(header["__metadata__"]["minigrad"]), {"version": 2, "tree": PLAIN}):
        yield "x.safetensors", tree, partial(_described, weights), mg.load, TREES
    model = contents["model.safetensors"]
    tree = json.loads(parts(model)[0]["__metadata__"]["minigrad"])
    yield "model.safetensors", tree, partial(_described, model), read_checkpoint, TREES
    yield "model.safetensors.index.json", json.loads(contents["model.safetensors.index.json"]), str.encode, mg.load, {}
    yield "chorales.json", json.loads(contents["chorales.json"]), str.encode, read_chorales, {}
    entry = json.loads(contents["log.jsonl"].splitlines()[-1])
    for reader in (read_log, draw):
        yield "log.jsonl", entry, lambda text: f"{text}\n".encode(), reader, {}
    yield "config.json", {"model_type": "gpt2", "n_embd": 8, "x": [1]}, str.encode, config, {}
    tokenizer = SubwordTokenizer.train(seeds.PAIRS.split(), 27).as_dict()["json"]
    for place in ("tokenizer.json", "tokenizer_config.json"):
        tree = json.loads(tokenizer) if place == "tokenizer.json" else {"add_prefix_space": True, "x": [1]}
        yield f"{place}.d/{place}", tree, str.encode, pretrained, {}
    yield "tokenizer.text", json.loads(tokenizer), str.encode, subwords, {}
    lines = contents["settings.toml"].decode().splitlines()
    for number, line in enumerate(lines):
        if " = " in line:
            before, after = "\n".join(lines[:number]), "\n".join(lines[number + 1 :])
            key, _, _ = line.partition(" = ")
            for entry in (key, "x", ".".join("a" * 5_000)):
                form = partial(_setting, before, entry, after)
                yield "settings.toml", 0, form, settings.Settings.read, {}


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a tensor file, and its numbers."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def _headed(data: bytes, text: str) -> bytes:
    """The file with another header."""
    return struct.pack("<Q", len(text)) + text.encode() + parts(data)[1]


def _described(data: bytes, text: str) -> bytes:
    """The file with another description of its content."""
    return _headed(data, json.dumps({**parts(data)[0], "__metadata__": {"minigrad": text}}))


PLAIN = [
    {"int": "0x1"},
    {"float": "nan"},
    {"complex": ["1.0", "2.0"]},
    {"Size": [2]},
    {"device": "cpu"},
    {"dtype": "float32"},
    {"range": [0, 3, 1]},
    {"dict": {"a": 1}},
    {"items": [[1, 2]]},
    {"OrderedDict": [[1, 2]], "attributes": [["a", 1]]},
    {"Counter": [["a", 1]]},
    {"defaultdict": "list", "items": [["a", []]]},
    {"Namespace": [["a", 1]]},
    {"SimpleNamespace": [["a", 1]]},
    {"set": [1]},
    {"tuple": [1]},
    {"frozenset": [1]},
    {"bytes": "eA=="},
    {"bytearray": "eA=="},
    {"array": "weight"},
    {"scalar": {"dtype": "<M8[s]", "shape": [], "data": "AAAAAAAAAAA="}},
    {"ndarray": {"dtype": "<U1", "shape": [1], "data": "eAAAAA=="}},
    {"parameter": "weight", "requires_grad": True, "device": "cuda:0", "attributes": [["a", 1]]},
]


def _setting(before: str, key: str, after: str, value: str) -> bytes:
    return f"{before}\n{key} = {value}\n{after}\n".encode()


def config(path: Path) -> None:
    """The configuration of a model in a folder."""
    entries = read_config(path.parent, "gpt2")
    try:
        GPT2.configured(entries)
    except (TypeError, ValueError) as error:  # as ``from_pretrained`` does
        raise ValueError(f"{path}: {error}") from error


def pretrained(path: Path) -> None:
    """The tokenizer in a folder."""
    read_tokenizer(path.parent)


def subwords(path: Path) -> None:
    """The tokenizer that a checkpoint describes; the reader does not know the file."""
    try:
        SubwordTokenizer.from_dict({"kind": "subwords", "json": path.read_text(encoding="utf-8")})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


LONG = {
    "lengths": lambda data, at: data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :],
    "zeros": lambda data, at: data[:at] + bytes(WIDE // 8) + data[at:],
    "high": lambda data, at: data[:at] + b"\xff" * (WIDE // 8) + data[at:],
    "notes": lambda data, at: data[:at] + b"\0\x90\x40\x40" * (WIDE // 8 // 4) + data[at:],
    "tempos": lambda data, at: data[:at] + b"\0\xff\x51\3\7\xa1\x20" * (WIDE // 8 // 7) + data[at:],
    "tracks": lambda data, at: data[:at] + b"MTrk\0\0\0\4\0\xff\x2f\0" * (WIDE // 8 // 12) + data[at:],
}


def played(folder: Path) -> Iterator[Case]:
    """Each byte of a MIDI file, with each bomb."""
    data = seeds.piece(folder)[:200]
    for place in range(len(data)):
        for bomb, change in LONG.items():
            yield Case(f"MIDI at {place}: {bomb}", "x.mid", partial(change, data, place), play)
