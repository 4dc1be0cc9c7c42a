"""Sentence pairs as token ids in compact arrays, in memory or in a file that is used again."""

from __future__ import annotations

import hashlib
import io
import json
import operator
import shutil
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minigrad.serialization.source import replaced
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
FILE = "encoded.bin"  # HEAD, ids, lengths and index
FORMAT = 2  # of the file
HEAD = struct.Struct("<I4xQ16s")  # the CRC-32 of all that follows it, the number of pairs, the fingerprint
CHECKED = 4  # bytes of the checksum
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
        folder, ids are in a file that is mapped into memory, and used again while sentences, tokenizers and ``longest``
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
        fingerprint = hashlib.blake2b(arguments.encode(), digest_size=16).digest()
        arrays = None
        with suppress(OSError):  # a file that cannot be read is written again
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
    pairs: Pairs, tokenizers: TokenizerPair, longest: int, ids: IO[bytes], progress: bool
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


def _digest(texts: Sequence[str]) -> str:
    if isinstance(texts, Texts):
        return texts.digest
    checksum = hashlib.blake2b(digest_size=16)
    for text in texts:
        checksum.update(text.encode() + b"\0")
    return checksum.hexdigest()


def _write(
    folder: Path, fingerprint: bytes, pairs: Pairs, tokenizers: TokenizerPair, longest: int, progress: bool
) -> None:
    """Write the file, as a whole. Raises OSError: it cannot be written; ValueError as ``_encode``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(f".{FILE}.*.tmp"):
            if path.stat().st_mtime < time.time() - STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
        with replaced(folder / FILE) as temporary, open(temporary, "wb+") as file:
            file.write(bytes(HEAD.size))
            lengths, index = _encode(pairs, tokenizers, longest, file, progress)
            file.write(lengths.tobytes() + index.tobytes())
            file.seek(0)
            file.write(HEAD.pack(0, len(index), fingerprint))
            file.flush()
            checksum = zlib.crc32(np.memmap(file, np.uint8, "r").data[CHECKED:])
            file.seek(0)
            file.write(checksum.to_bytes(CHECKED, "little"))
    except OSError as error:
        raise OSError(error.errno, f"token ids cannot be written to {folder}: {error.strerror}") from error


def _read(folder: Path, fingerprint: bytes, dtype: np.dtype[Any]) -> Arrays | None:
    """The arrays of the file; None if it is of another corpus, damaged or missing. Raises OSError: it exists, but
    cannot be read."""
    try:
        data = np.memmap(folder / FILE, np.uint8, "r")
        checksum, count, written = HEAD.unpack(data[: HEAD.size].tobytes())
    except (FileNotFoundError, ValueError, struct.error):  # none, an empty one, or hardly any
        return None
    if written != fingerprint or checksum != zlib.crc32(data.data[CHECKED:]):
        return None
    last = len(data) - count * PLACE.itemsize
    first = last - count * 2 * LENGTH.itemsize
    lengths = data[first:last].copy().view(LENGTH).reshape(count, 2)
    return data[HEAD.size : first].view(dtype), lengths, data[last:].copy().view(PLACE)
