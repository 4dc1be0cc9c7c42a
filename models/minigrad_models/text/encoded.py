"""Sentence pairs as token ids in compact arrays, in memory or in a temporary file."""

from __future__ import annotations

import io
import operator
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from minigrad.utils.bar import DELAY, bar
from minigrad.utils.data import Dataset

from .corpus import Pairs
from .tokenizer import BOS, EOS

if TYPE_CHECKING:
    from .pair import TokenizerPair

IntArray = np.ndarray[Any, np.dtype[Any]]
Arrays = tuple[IntArray, IntArray, IntArray]
LENGTH, PLACE = np.dtype("<i4"), np.dtype("<u4")
CHUNK_PAIRS, CHUNK_CHARACTERS = 4096, 1 << 20  # the most to encode at once: the library's results are large
QUIET_SECONDS = DELAY  # before a bar appears


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
        """Encode a corpus, without the pairs with more than ``longest`` tokens on a side, BOS and EOS included. With a
        folder, ids are in a temporary file there, which is mapped into memory; without one, they are in memory.
        ``progress`` shows a bar on stderr after two seconds (if tqdm is installed). Raises ValueError: every pair is
        too long; OSError: the sentences cannot be read, or the folder cannot be written to."""
        dtype = _id_type(tokenizers)
        if folder is None:
            stream = io.BytesIO()
            lengths, index = _encode(pairs, tokenizers, longest, stream, progress)
            ids: IntArray = np.frombuffer(stream.getbuffer(), dtype)
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as file:
                    lengths, index = _encode(pairs, tokenizers, longest, file, progress)
                    file.flush()
                    ids = np.memmap(file, dtype, "r")
            except OSError as error:
                raise OSError(error.errno, f"token ids cannot be written to {folder}: {error.strerror}") from error
        return cls((ids, lengths, index), len(pairs.source))

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
    """Write the ids of all pairs that are not too long. Returns their lengths (N, 2) and numbers (N,)."""
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
