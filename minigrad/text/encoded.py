"""Sentence pairs as token ids in compact arrays, in memory or in files, made once and used again."""

from __future__ import annotations

import hashlib
import io
import json
import operator
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..utils.data import Dataset
from .corpus import Pairs
from .lines import Texts
from .tokenizer import BOS, EOS

if TYPE_CHECKING:
    from .pair import TokenizerPair

IntArray = np.ndarray[Any, np.dtype[Any]]
Arrays = tuple[IntArray, IntArray, IntArray]
LENGTH, PLACE = np.dtype("<i4"), np.dtype("<u4")
CHUNK_PAIRS, CHUNK_CHARACTERS = 4096, 1 << 20  # encoded at once, at most: the library's results are large
QUIET_SECONDS = 2  # before a bar is shown
FORMAT = 1  # of the files


class EncodedPairs(Dataset[tuple[list[int], list[int]]]):
    """Example i is a pair as (source ids and EOS, BOS and target ids and EOS); ``build`` makes one.

    Attributes:
        lengths: (N, 2) int32, tokens of source and target, EOS and BOS counted.
        index: (N,) uint32, each pair's number in the corpus.
        left_out: how many pairs of the corpus are too long.
    """

    def __init__(self, arrays: Arrays, corpus: int) -> None:
        """As ``build`` does it.

        Args:
            arrays: ids of pair after pair, source and then target, one long row; lengths; index.
            corpus: how many pairs the corpus has.
        """
        self.ids, self.lengths, self.index = arrays
        self.left_out = corpus - len(self.index)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths.sum(axis=1, dtype=np.int64))])

    @classmethod
    def build(
        cls, pairs: Pairs, tokenizers: TokenizerPair, *, longest: int, folder: Path | None = None,
        progress: bool = True,
    ) -> EncodedPairs:  # fmt: skip
        """Encode a corpus.

        Args:
            pairs: the sentences.
            tokenizers: of source and target.
            longest: pairs with a side of more tokens, BOS and EOS counted, are left out.
            folder: where ids are kept, in files that are mapped into memory and used again as long as
                sentences, tokenizers and ``longest`` are the same; None: in memory.
            progress: show a bar on the standard error stream if it takes more than two seconds (and tqdm
                is installed).

        Raises:
            ValueError: every pair is too long. OSError: the folder cannot be written to.
        """
        corpus, dtype = len(pairs.source), _id_type(tokenizers)
        if folder is None:
            stream = io.BytesIO()
            lengths, index = _encode(pairs, tokenizers, longest, stream, progress)
            return cls((np.frombuffer(stream.getbuffer(), dtype), lengths, index), corpus)
        fingerprint = _fingerprint(pairs, tokenizers, longest)
        found = _read(folder, fingerprint, dtype)
        if found is None:
            try:
                _write(folder, fingerprint, pairs, tokenizers, longest, progress)
            except OSError as error:
                raise OSError(f"token ids cannot be written to {folder}: {error}") from error
            found = _read(folder, fingerprint, dtype)
        if found is None:
            raise OSError(f"token ids in {folder} are not what was written: is another program using it?")
        return cls(found, corpus)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> tuple[list[int], list[int]]:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no pair {number} of {len(self)}")
        start, middle = int(self._starts[number % len(self)]), int(self.lengths[number, 0])
        both = self.ids[start : start + middle + int(self.lengths[number, 1])].tolist()
        return both[:middle], both[middle:]


# Encoding ------------------------------------------------------------------------------------------------


def _id_type(tokenizers: TokenizerPair) -> np.dtype[Any]:
    most = max(len(tokenizers.source), len(tokenizers.target))
    return np.dtype("<u2" if most <= 1 << 16 else "<u4")


def _encode(
    pairs: Pairs, tokenizers: TokenizerPair, longest: int, ids: IO[bytes], progress: bool
) -> tuple[IntArray, IntArray]:
    """Write the ids of all pairs that are not too long; returns their lengths (N, 2) and numbers (N,).

    Raises:
        ValueError: there are none.
    """
    dtype, total = _id_type(tokenizers), len(pairs.source)
    lengths, index = [], []
    done = 0
    with _bar(total, progress) as bar:
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
            if bar is not None:
                bar.update(len(texts))
    if not any(len(numbers) for numbers in index):
        raise ValueError(f"every pair of the corpus ({total:,}) is longer than {longest} tokens")
    return np.concatenate(lengths), np.concatenate(index)


def _chunks(pairs: Pairs) -> Iterator[list[tuple[str, str]]]:
    """The sentence pairs, some thousand at a time, fewer where they are long."""
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


def _bar(total: int, wanted: bool) -> Any:
    """A progress bar, or None where none is wanted or tqdm is missing."""
    if wanted:
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            return tqdm(total=total, desc="encoding", unit=" pairs", unit_scale=True, leave=False,
                        delay=QUIET_SECONDS)  # fmt: skip
    return nullcontext()


# Files: encoded.bin holds ids, lengths and index one after another, encoded.json what they are ------------


def _fingerprint(pairs: Pairs, tokenizers: TokenizerPair, longest: int) -> str:
    """A checksum of all that decides the ids: sentences (wherever they are), tokenizers and limit."""
    sides = [_digest(pairs.source), _digest(pairs.target)]
    decides = json.dumps([FORMAT, longest, len(pairs.source), sides, tokenizers.as_dict()], sort_keys=True)
    return hashlib.blake2b(decides.encode(), digest_size=16).hexdigest()


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
    """Both files, each written whole and then given its name; the one that vouches for the other last."""
    folder.mkdir(parents=True, exist_ok=True)
    data, about = folder / "encoded.bin.part", folder / "encoded.json.part"
    try:
        with data.open("wb") as file:
            lengths, index = _encode(pairs, tokenizers, longest, file, progress)
            _write_tail(file, lengths, index)
        description = {"fingerprint": fingerprint, "checksum": _checksum(data), "pairs": len(index)}
        about.write_text(json.dumps(description), encoding="utf-8")
        os.replace(data, folder / "encoded.bin")
        os.replace(about, folder / "encoded.json")
    finally:
        for left in (data, about):
            left.unlink(missing_ok=True)


def _write_tail(file: IO[bytes], lengths: IntArray, index: IntArray) -> None:
    file.write(lengths.tobytes())
    file.write(index.tobytes())


def _read(folder: Path, fingerprint: str, dtype: np.dtype[Any]) -> Arrays | None:
    """What ``_write`` has written; None if it is of another corpus, damaged or not there."""
    path = folder / "encoded.bin"
    try:
        about = json.loads((folder / "encoded.json").read_text(encoding="utf-8"))
        if about["fingerprint"] != fingerprint or about["checksum"] != _checksum(path):
            return None
        count = int(about["pairs"])
        split = path.stat().st_size - count * (2 * LENGTH.itemsize + PLACE.itemsize)
        lengths = np.fromfile(path, LENGTH, 2 * count, offset=split).reshape(count, 2)
        index = np.fromfile(path, PLACE, count, offset=split + lengths.nbytes)
        if count < 1 or lengths.min() < 1 or lengths.sum(dtype=np.int64) * dtype.itemsize != split:
            return None
        return np.memmap(path, dtype, "r", shape=(split // dtype.itemsize,)), lengths, index
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return found
