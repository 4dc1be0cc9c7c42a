"""Search by meaning: the lines of a file whose sentence embeddings are nearest to that of a query. A file in a cache
keeps embeddings, under a name that depends on the lines, the model and the number of pieces that are read."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad.serialization import load_file, save_file
from minigrad.utils.bar import watched

from ..architectures.pretrained import CONFIG, weights_file
from .bert import Bert
from .bert_data import lines
from .train_bert import length, minilm, pretrained

AT_ONCE = 1024  # lines between two steps of the bar
LONGEST = 256  # pieces of a line; MiniLM was trained with no more
NAME = "embeddings"  # in the cache's files
FORMAT = 1  # of these files
Array = np.ndarray[Any, np.dtype[Any]]


class Near(NamedTuple):
    """A line that was found: its number, from 1 on, and its cosine with the query."""

    score: float
    number: int
    text: str


class Index:
    """The lines of a text file, but the empty ones, with their embeddings by the model of a folder (None: MiniLM), kept
    in the folder ``cache`` (None: nowhere). ``longest`` pieces of a line are read, by default LONGEST, see ``length``.
    Raises OSError, ValueError, RuntimeError: the file or the model cannot be used."""

    def __init__(self, path: Path, folder: Path | None, cache: Path | None = None, longest: int | None = None) -> None:
        self.texts = [(number, line.strip()) for number, line in lines(path) if line.strip()]
        if not self.texts:
            raise ValueError(f"{path} has no text to search")
        source = minilm() if folder is None else folder
        self.model = pretrained(Bert, source)
        self.longest = length(longest, LONGEST, self.model)
        self.model.tokenizer.encode_special_tokens = True  # "[SEP]" in a line is text
        file = None if cache is None else cache / f"{self._digest(source)}.safetensors"
        self.embeddings = self._kept(file)

    def nearest(self, query: str, count: int) -> list[Near]:
        """The lines that are nearest to a query, the nearest first. Raises ValueError: an empty query."""
        if not query.strip():
            raise ValueError("the query is empty")
        scores = self.embeddings @ self.model.encode([query], longest=self.longest).numpy()[0]
        best = np.argsort(-scores, kind="stable")[:count].tolist()
        return [Near(float(scores[i]), *self.texts[i]) for i in best]

    def _kept(self, file: Path | None) -> Array:
        """The embeddings (N, D) of a file, or, if it is missing or damaged, new ones, which it then keeps."""
        if file is not None and file.is_file():
            with suppress(ValueError, RuntimeError, LookupError, EOFError, OSError):
                kept: Array = load_file(file)[NAME].numpy()
                if kept.shape == (len(self.texts), self.model.config.d_model):
                    return kept
        embeddings = embed(self.model, [text for _, text in self.texts], self.longest)
        if file is not None:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                save_file({NAME: mg.from_numpy(embeddings)}, file)
            except OSError as error:
                print(f"note: embeddings are not kept: {error}", file=sys.stderr)
        return embeddings

    def _digest(self, folder: Path) -> str:
        """A checksum of all that the embeddings depend on."""
        digest = hashlib.blake2b(f"{FORMAT} {self.longest}".encode(), digest_size=16)
        digest.update(self.model.tokenizer.to_str().encode())
        for file in (folder / CONFIG, weights_file(folder)):
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "blake2b").digest())
        for _, text in self.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()


def embed(model: Bert, texts: Sequence[str], longest: int) -> Array:
    """The embeddings of texts (N, D), with a bar on stderr after two seconds."""
    starts = watched(range(0, len(texts), AT_ONCE), "embedding")
    return np.concatenate([model.encode(texts[i : i + AT_ONCE], longest=longest).numpy() for i in starts])
