"""Sentence pairs as token ids in compact arrays, in memory or in files that are used again."""

from __future__ import annotations

import hashlib
import io
import json
import operator
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minigrad.utils.bar import DELAY, bar
from minigrad.utils.data import Dataset

from .corpus import Pairs
from .lines import Texts
from .tokenizer import BOS, EOS

if TYPE_CHECKING:
    from .pair import TokenizerPair

IntArray = np.ndarray[Any, np.dtype[Any]]
Arrays = tuple[IntArray, IntArray, IntArray]
LENGTH, PLACE = np.dtype("<i4"), np.dtype("<u4")
CHUNK_PAIRS, CHUNK_CHARACTERS = 4096, 1 << 20  # the most to encode at once: the library's results are large
QUIET_SECONDS = DELAY  # before a bar appears
FORMAT = 1  # of the files
STALE_SECONDS = 24 * 3600  # the age of a temporary file whose writer must be dead


class EncodedPairs(Dataset[tuple[list[int], list[int]]]):
    """Example i is a pair: (source ids and EOS, BOS and target ids and EOS). ``build`` encodes a corpus. ``ids`` are
    those of pair after pair, source and then target, in one row; ``lengths`` (N, 2) int32 the tokens of source and
    target, with EOS and BOS; ``index`` (N,) uint32 the number of each pair in the corpus, of which ``left_out`` are too
    long."""

    def __init__(self, arrays: Arrays, corpus: int) -> None:
        self.ids, self.lengths, self.index = arrays
        self.left_out = corpus - len(self.index)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths.sum(axis=1, dtype=np.int64))])

    @classmethod
    def build(
        cls, pairs: Pairs, tokenizers: TokenizerPair, *, longest: int, folder: Path | None = None, progress: bool = True
    ) -> EncodedPairs:
        """Encode a corpus, without the pairs with more than ``longest`` tokens on a side, BOS and EOS included. In a
        folder, ids are in files that are mapped into memory, and used again while sentences, tokenizers and ``longest``
        stay the same; without one, they are in memory. ``progress`` shows a bar on stderr after two seconds (if tqdm is
        installed). Raises ValueError: every pair is too long, or (with a folder) a tokenizer cannot be described;
        OSError: the sentences cannot be read, or the folder cannot be written to."""
        corpus, dtype = len(pairs.source), _id_type(tokenizers)
        if folder is None:
            stream = io.BytesIO()
            lengths, index = _encode(pairs, tokenizers, longest, stream, progress)
            return cls((np.frombuffer(stream.getbuffer(), dtype), lengths, index), corpus)
        # Of everything that determines the ids: sentences (not their paths), tokenizers and limit.
        sides = [_digest(pairs.source), _digest(pairs.target)]
        arguments = json.dumps([FORMAT, longest, corpus, sides, tokenizers.as_dict()], sort_keys=True)
        fingerprint = hashlib.blake2b(arguments.encode(), digest_size=16).hexdigest()
        arrays = None
        with suppress(OSError):  # files that cannot be read are written again
            arrays = _read(folder, fingerprint, dtype)
        if arrays is None:
            _write(folder, fingerprint, pairs, tokenizers, longest, progress)
            arrays = _read(folder, fingerprint, dtype)
        if arrays is None:
            raise OSError(f"token ids in {folder} are not what was written: is another program using it?")
        return cls(arrays, corpus)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> tuple[list[int], list[int]]:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no pair {number} of {len(self)}")
        start, middle = int(self._starts[number % len(self)]), int(self.lengths[number, 0])
        both = self.ids[start : start + middle + int(self.lengths[number, 1])].tolist()
        return both[:middle], both[middle:]


def _id_type(tokenizers: TokenizerPair) -> np.dtype[Any]:
    largest = max(len(tokenizers.source), len(tokenizers.target))
    return np.dtype("<u2" if largest <= 1 << 16 else "<u4")


def _encode(
    pairs: Pairs, tokenizers: TokenizerPair, longest: int, ids: IO[bytes] | _NewFile, progress: bool
) -> tuple[IntArray, IntArray]:
    """Write the ids of all pairs that are not too long. Returns their lengths (N, 2) and numbers (N,). Raises
    ValueError: all are too long."""
    dtype, total = _id_type(tokenizers), len(pairs.source)
    lengths, index = [], []
    done = 0
    with bar(total, "encoding", " pairs", progress, QUIET_SECONDS) as shown:
        for texts in _chunks(pairs):
            sources = tokenizers.source.encode_batch([a for a, _ in texts])
            targets = tokenizers.target.encode_batch([b for _, b in texts])
            both = zip(sources, targets, strict=True)
            sizes = np.array([(len(a) + 1, len(b) + 2) for a, b in both], LENGTH)
            kept = np.flatnonzero(sizes.max(axis=1) <= longest)
            flat = chain.from_iterable((*sources[i], EOS, BOS, *targets[i], EOS) for i in kept.tolist())
            ids.write(np.fromiter(flat, dtype).tobytes())
            lengths.append(sizes[kept])
            index.append((kept + done).astype(PLACE))
            done += len(texts)
            shown.update(len(texts))
    if not any(len(numbers) for numbers in index):
        raise ValueError(f"every pair of the corpus ({total:,}) is longer than {longest} tokens")
    return np.concatenate(lengths), np.concatenate(index)


def _chunks(pairs: Pairs) -> Iterator[list[tuple[str, str]]]:
    """The sentence pairs, some thousand at a time, fewer if they are long."""
    chunk: list[tuple[str, str]] = []
    characters = 0
    for a, b in zip(pairs.source, pairs.target, strict=True):
        chunk.append((a, b))
        characters += len(a) + len(b)
        if len(chunk) == CHUNK_PAIRS or characters > CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


# Files: encoded.bin holds ids, lengths and index; encoded.json describes it ---------------------------------


def _digest(texts: Sequence[str]) -> str:
    if isinstance(texts, Texts):
        return texts.digest
    checksum = hashlib.blake2b(digest_size=16)
    for text in texts:
        checksum.update(text.encode() + b"\0")
    return checksum.hexdigest()


def _write(
    folder: Path, fingerprint: str, pairs: Pairs, tokenizers: TokenizerPair, longest: int, progress: bool
) -> None:
    """Write both files, each to a temporary file that is then renamed; the description last. Its checksum is that of
    the bytes before they are written: the files of several processes that write here never match each other."""
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(".encoded.*.tmp"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - STALE_SECONDS:
                path.unlink()
    with _new_file(folder, "encoded.bin") as data:
        lengths, index = _encode(pairs, tokenizers, longest, data, progress)
        _write_tail(data, lengths, index)
    about = {"fingerprint": fingerprint, "checksum": data.checksum, "pairs": len(index)}
    with _new_file(folder, "encoded.json") as file:
        file.write(json.dumps(about).encode())


def _write_tail(file: _NewFile, lengths: IntArray, index: IntArray) -> None:
    file.write(lengths.tobytes())
    file.write(index.tobytes())


class _NewFile:
    """A file, and the CRC-32 of the bytes that were written to it."""

    def __init__(self, file: IO[bytes], folder: Path) -> None:
        self.file, self.folder, self.checksum = file, folder, 0

    def write(self, data: bytes) -> None:
        with _writing_to(self.folder):
            self.file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)


@contextmanager
def _new_file(folder: Path, name: str) -> Iterator[_NewFile]:
    """A temporary file, which takes its name at the end."""
    temporary = folder / f".{name}.{secrets.token_hex(8)}.tmp"
    with _writing_to(folder):
        file = temporary.open("xb")
    try:
        yield _NewFile(file, folder)
        with _writing_to(folder):
            file.close()
            os.replace(temporary, folder / name)
    finally:
        with suppress(OSError):  # a full disk fails once more
            file.close()
        temporary.unlink(missing_ok=True)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = f"token ids cannot be written to {folder}: {error.strerror}"
        raise OSError(error.errno, why) from error


def _read(folder: Path, fingerprint: str, dtype: np.dtype[Any]) -> Arrays | None:
    """The arrays from ``_write``; None if they are of another corpus, damaged or missing. Raises OSError: the files
    exist, but cannot be read."""
    try:
        about = json.loads((folder / "encoded.json").read_text(encoding="utf-8"))
        if about["fingerprint"] != fingerprint:
            return None
        data = np.memmap(folder / "encoded.bin", np.uint8, "r")
        count = int(about["pairs"])
        tail = count * LENGTH.itemsize * 2, count * PLACE.itemsize
        if about["checksum"] != zlib.crc32(data.data) or not 0 < sum(tail) < len(data):
            return None
        ids = data[: -sum(tail)].view(dtype)
        lengths = data[-sum(tail) : -tail[1]].copy().view(LENGTH).reshape(count, 2)
        is_whole = lengths.min() > 0 and lengths.sum(dtype=np.int64) == len(ids)
        return (ids, lengths, data[-tail[1] :].copy().view(PLACE)) if is_whole else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
