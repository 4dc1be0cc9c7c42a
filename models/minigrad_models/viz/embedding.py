"""Visualisations of embeddings: the nearest words to each word, and a map of all words in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from minigrad.backend.host import host
from minigrad.viz.attention.attention_data import tokenizer_reader
from minigrad.viz.numbers import Array, coded, similar
from minigrad.viz.page import Page
from minigrad.viz.vector import INK, PLUS, QUIET, Box, Drawing
from minigrad.viz.view import Picture

from .texts import checked_texts, label, reader

MOST = 100_000  # words on a page
CELLS = 1 << 23  # cosines in memory at once
NAMES = 150  # the most labels in an image
TRIED = 2000  # how many of the first words the image tries to label
WIDE, HIGH, EDGE = 720.0, 560.0, 36.0  # of the picture, in pixels


@dataclass(frozen=True)
class Embedding(Picture):
    """Words as vectors. In a notebook it displays itself."""

    weights: Array  # (V, D), float32
    tokens: tuple[str, ...]  # V strings
    count: int = 10  # nearest words shown on the page for each word
    title: str = "Embedding"

    def __repr__(self) -> str:
        words, width = self.weights.shape
        return f"<embedding of {words:,} words, {width} wide; .save('x.html'), .svg() or .nearest(word)>"

    @cached_property
    def units(self) -> Array:
        """The normalised vectors (V, D), float32; zero vectors remain zero."""
        norms = np.linalg.norm(self.weights.astype(np.float64), axis=1, keepdims=True)
        units: Array = (self.weights / np.where(norms == 0, 1, norms)).astype(np.float32)
        return units

    @cached_property
    def neighbours(self) -> tuple[Array, Array]:
        """The indices and cosine similarities of the ``count`` nearest words to each word, (V, count) each, nearest
        first. The similarities of zero vectors are 0."""
        total = len(self.tokens)
        count = min(self.count, total - 1)
        indices, cosines = np.zeros((total, count), np.int32), np.zeros((total, count), np.float32)
        many = max(CELLS // total, 1)
        for start in range(0, total if count else 0, many):
            rows = slice(start, min(start + many, total))
            block = self.units[rows] @ self.units.T  # (many, V)
            block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = -np.inf  # not itself
            some = np.argpartition(-block, count - 1, axis=1)[:, :count]
            values = np.take_along_axis(block, some, 1)
            order = np.lexsort((some, -values))  # first word first in a tie
            indices[rows] = np.take_along_axis(some, order, 1)
            cosines[rows] = np.take_along_axis(values, order, 1)
        return indices, np.clip(cosines, -1, 1)

    @cached_property
    def principal(self) -> tuple[Array, tuple[float, float]]:
        """The first two principal components of the words (V, 2) (Pearson 1901; computed by SVD), and the fraction of
        the variance that each explains."""
        centred = self.weights.astype(np.float64) - self.weights.mean(0, dtype=np.float64)
        # The factor R of centred = QR is small, and has the same singular values and right vectors.
        _, sizes, axes = np.linalg.svd(np.linalg.qr(centred, mode="r"))
        # The sign of an axis is arbitrary, so make its largest number positive.
        axes = axes[:2] * np.sign(axes[:2, np.abs(axes[:2]).argmax(1)].diagonal())[:, None]
        points, parts = np.zeros((len(centred), 2)), np.zeros(2)
        points[:, : len(axes)] = centred @ axes.T
        total = (sizes**2).sum()
        parts[: len(sizes[:2])] = sizes[:2] ** 2 / total if total else 0
        return points, (float(parts[0]), float(parts[1]))

    def index(self, word: str | int) -> int:
        """The first index of a word. Raises ValueError for an unknown word; the message lists similar words."""
        if isinstance(word, int | np.integer):
            if not 0 <= word < len(self.tokens):
                raise ValueError(f"there is no word {word}: there are {len(self.tokens):,} words, numbered from 0")
            return int(word)
        if word in self.tokens:
            return self.tokens.index(word)
        raise ValueError(f"there is no word {label(word)!r}{similar(word, self.tokens)}")

    def nearest(self, word: str | int, count: int = 10) -> list[tuple[str, float]]:
        """The nearest words to a word, and their cosine similarities. Raises the errors of ``index``."""
        index = self.index(word)
        cosines = np.clip(self.units @ self.units[index], -1, 1)
        order = [i for i in np.argsort(-cosines, kind="stable").tolist() if i != index]
        return [(self.tokens[i], float(cosines[i])) for i in order[: max(count, 0)]]

    def page(self) -> Page:
        """An interactive map, with a search and each word's nearest words, as a single file that works offline."""
        (indices, cosines), (points, explained) = self.neighbours, self.principal
        data = {
            "title": self.title,
            "tokens": list(self.tokens),
            "width": self.weights.shape[1],
            "points": coded(points, "<f4"),
            "explained": list(explained),
            "count": indices.shape[1],
            "indices": coded(indices, "<i4"),
            "cosines": coded(np.rint(cosines * 32767), "<i2"),
            "zero": np.flatnonzero(~self.weights.any(1)).tolist(),
        }
        return Page.of("embedding", self.title, {"embedding": data}, height=680)

    def svg(self, word: str | int | None = None) -> str:
        """An SVG of all words, or of a word and its nearest words. Labels are placed in word order; those that do not
        fit are omitted. Raises ValueError in the same cases as ``index``."""
        drawing = Drawing(WIDE, HIGH, self.title)
        points, size = self.principal[0], np.array([WIDE, HIGH])
        low, high = points.min(0), points.max(0)
        scale = ((size - 2 * EDGE) / np.maximum(high - low, 1e-12)).min()  # the same scale for both axes
        places = (points - (low + high) / 2) * min(scale, 1e12) * [1, -1] + size / 2
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places.tolist())
        drawing.add("path", d=dots, stroke=QUIET, stroke_width=3, stroke_linecap="round", opacity=0.45)
        near: list[int] = []
        if word is not None:
            centre = self.index(word)
            near = [centre, *(self.neighbours[0][centre].tolist() if self.weights[centre].any() else ())]
            for i in near[1:]:
                drawing.line([tuple(places[centre]), tuple(places[i])], PLUS, 0.8)
        boxes: list[Box] = []
        for i in [*near, *range(min(len(self.tokens), TRIED) if word is None else 0)]:
            if len(boxes) < NAMES or i in near:
                colour = PLUS if i in near[1:] else INK
                _name(drawing, boxes, places[i], label(self.tokens[i]), colour, forced=i in near[:1])
        return drawing.svg()


def embedding(weights: Any, tokens: Any = None, neighbours: int = 10, title: str = "") -> Embedding:
    """Show word vectors: the nearest words by cosine similarity, and a map of the first two principal components.

    Args:
        weights: an ``nn.Embedding``, a Tensor or an array of shape (V, D).
        tokens: the text of each token, a function from an id to its text, or a tokenizer. If it is None, ids are shown.
        neighbours: the number of nearest words on the page. title: the page title.

    Raises TypeError if weights has the wrong type, and ValueError if weights is not a matrix of finite numbers, there
    are too many words for a page, or tokens do not match them.
    """
    weights = getattr(weights, "weight", weights)
    matrix = host(weights)
    if matrix.dtype.kind in "OUS":  # a module without weights, a string, a dict, None
        raise TypeError(f"weights must be an nn.Embedding, a Tensor or an array, not a {type(weights).__name__}")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"weights must be a matrix (V, D) of V words, but have shape {matrix.shape}")
    if matrix.dtype.kind not in "fiu":
        raise ValueError(f"weights must be real numbers, not {matrix.dtype}")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    if len(matrix) > MOST:
        raise ValueError(f"{len(matrix):,} words are too many for a page: choose at most {MOST:,}")
    if neighbours < 1:
        raise ValueError(f"neighbours must be at least 1, not {neighbours}")
    if tokens is None or callable(tokens) or tokenizer_reader(tokens) is not None:
        tokens = map(reader(tokens), range(len(matrix)))
    names = checked_texts("tokens", tokens)
    if len(names) != len(matrix):
        raise ValueError(f"{len(names):,} tokens for {len(matrix):,} vectors: there must be one for each")
    if not (finite := np.isfinite(matrix).all(1)).all():
        first = int(finite.argmin())
        raise ValueError(
            f"weights must be finite, but {np.count_nonzero(~finite):,} words have NaN or infinity, the first of which "
            f"is word {first} ({label(names[first])!r})"
        )
    return Embedding(matrix, names, neighbours, title or f"Embedding: {len(names):,} words")


def _name(drawing: Drawing, boxes: list[Box], place: Array, name: str, colour: str, forced: bool) -> None:
    """Write a word next to its point if it does not overlap another word or is ``forced``."""
    x, y = float(place[0]) + 5, float(place[1]) + 4
    wide = 6.6 * len(name)
    if x + wide > WIDE:
        x -= wide + 10
    left, top, right, bottom = box = (x - 1, y - 11, x + wide + 1, y + 3)
    if forced or not any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in boxes):
        boxes.append(box)
        drawing.text(x, y, name, size=12, colour=colour, font_weight=600 if forced else None)
