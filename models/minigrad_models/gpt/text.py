"""The training text, batches of its windows or segments, and the loss on text read in segments."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg

from ..programs.folder import command, find_data_set
from ..programs.validation import NONE, Batch, Ids, Progress, windows
from ..text import Segments
from ..translation import english_italian
from .gpt_settings import SHAKESPEARE, DataSettings

ROWS = 8  # rows of text to score in parallel, segment by segment; each begins without a memory


class Text(NamedTuple):
    """A text in two parts, with a checksum of both."""

    name: str
    train: str
    validation: str
    digest: str


def read(settings: DataSettings) -> Text:
    """Read the text that is configured. Raises FileNotFoundError if it is missing, and ValueError if it is invalid."""
    path = Path(settings.input) if settings.input else find_data_set(*SHAKESPEARE)
    if path is None or settings.input == "sentences":
        shakespeare = command("data", "tinyshakespeare")
        name = f"English sentences from a grammar, examples/english_italian (Shakespeare: {shakespeare})"
        text = "".join(f"{pair.source}\n" for pair in english_italian.load())
    else:
        name, text = path.name, read_file(path, settings.tokenizer)
    cut = int(len(text) * (1 - settings.held_out))
    if min(cut, len(text) - cut) < 2:
        raise ValueError(f"{name} has {len(text)} characters: too few for training and validation")
    digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return Text(name, text[:cut], text[cut:], digest)


def read_file(path: Path, tokenizer: str) -> str:
    """The text in a file, which must be UTF-8 unless its tokens are bytes. Raises the same errors as ``read``."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.is_file():
        raise ValueError(f"{path} is a folder, a device or a pipe, not a file")
    content = path.read_bytes()
    if not content:
        raise ValueError(f"{path} is empty")
    if tokenizer == "bytes":
        return content.decode("utf-8", "surrogateescape")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text (byte {content[error.start]:#04x} at {error.start:,}). Convert it first, "
            "for instance: iconv -f LATIN1 -t UTF-8; or train on bytes with --tokenizer bytes"
        ) from None


class Windows:
    """The batches of a training run, each of B windows of T tokens. Each epoch cuts the text (N,) at different places
    and shuffles the windows. The last, incomplete batch of an epoch is dropped, unless it is the only batch. Each batch
    depends only on the seed, the epoch and the batch's index, so a run can resume at any batch. Raises ValueError if
    the text is shorter than a window plus the token after it."""

    def __init__(self, ids: Ids, window: int, batch: int, seed: int = 0, device: str = "cpu") -> None:
        if len(ids) <= window:
            raise ValueError(
                f"the text has {len(ids):,} tokens for training, but a window needs {window + 1:,}: use a longer "
                f"text, or a smaller --window or --context"
            )
        self.ids, self.window, self.batch, self.seed, self.device = ids, window, batch, seed, device

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        generator = np.random.default_rng([self.seed % 2**64, number])
        spare = len(self.ids) - 1 - self.window
        first = int(generator.integers(min(self.window - 1, spare) + 1))
        begins = generator.permutation(np.arange(first, len(self.ids) - self.window, self.window))
        for i in range(start, max(1, len(begins) // self.batch)):
            yield windows(self.ids, begins[i * self.batch : (i + 1) * self.batch], self.window, self.device)


def segments(ids: Ids, window: int, batch: int, seed: int = 0, device: str = "cpu") -> Segments:
    """The batches of a training run (see ``Windows``). The loss function moves them to the device."""
    try:
        return Segments(ids, batch, window, seed)
    except ValueError as error:
        raise ValueError(f"{error}: use a longer text, or a smaller --batch, --window or --context") from None


@mg.no_grad()
def score_segments(
    model: Any,
    ids: Ids,
    window: int,
    stride: int = 0,
    batch: int = ROWS,
    most: int = 0,
    progress: Progress | None = None,
) -> float:
    """The mean cross-entropy, in nats, of the tokens of a text (N,). The model's ``segment_loss`` reads the text in
    segments with a memory. A segment has ``stride`` tokens, and the memory has the rest of the window, so a token sees
    at most ``window`` tokens, and at least ``window - stride`` once there are that many. With a stride of 0, segments
    are whole windows, and the memory is as in training. The text is read in ``batch`` parallel rows, at most ``ROWS``.
    At most ``most`` tokens are predicted (0: all). ``progress`` is called with the number in each segment."""
    length, remembered = (stride, window - stride) if stride else (window, model.config.memory)
    count = min(len(ids) - 1, most or len(ids))
    rows = min(batch, ROWS, -(-count // length))
    width = -(-count // rows)
    both = np.zeros((2, rows * width), np.int64)
    both[:, :count], both[1, count:] = (ids[:count], ids[1 : count + 1]), NONE
    tokens, targets = both.reshape(2, rows, width)
    device, nats, memory = next(iter(model.parameters())).device, 0.0, None
    for begin in range(0, width, length):
        piece = slice(begin, begin + length)
        counted = int((targets[:, piece] != NONE).sum())
        here = [mg.from_numpy(np.ascontiguousarray(part[:, piece])).to(device) for part in (tokens, targets)]
        loss, memory = model.segment_loss(*here, memory, remembered)
        nats += float(loss) * counted
        if progress is not None:
            progress(counted)
    return nats / count


def bits(nats: float, characters: int, tokens: int) -> float:
    """Bits per character of a text, from the loss per token in nats."""
    return nats / math.log(2) * tokens / characters
