"""Continues prompts with a small GPT-2 on the CPU, using minigrad's cache and ``generate`` from transformers.

Both libraries use the same weights. Their greedy texts must match. Sampled texts differ, but have the same length.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .compare import Jobs, compared, speed
from .process import library_module
from .table import Table, ratio

LIBRARIES = ("minigrad", "transformers")
BATCHES, VOCABULARIES = (1, 8), (65, 50257)
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "temperature 0.8, top 50": {"temperature": 0.8, "top_k": 50},
    "temperature 0.8, top 50, p 0.95": {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
}
GOAL = 1.5


class Size(NamedTuple):
    """The sizes of a model and of its texts: each has ``prompt`` tokens, then ``tokens`` generated ones."""

    vocabulary: int
    width: int = 384
    heads: int = 6
    layers: int = 6
    prompt: int = 16
    tokens: int = 64

    @property
    def positions(self) -> int:
        """The context: the prompt and its continuation."""
        return self.prompt + self.tokens


TINY = Size(40, 8, 2, 2, 3, 6)  # to test the program


def model_of(size: Size) -> Any:
    """The minigrad model, with random weights that are large enough for texts to differ."""
    import minigrad as mg
    from minigrad_models.gpt.gpt2 import GPT2, Config

    mg.manual_seed(0)
    model = GPT2(Config(size.vocabulary, size.positions, size.width, size.heads, size.layers)).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            mg.nn.init.normal_(weight, std=0.1)
    return model


def jobs(library: str, sizes: list[int], batch: int) -> Jobs:
    """For each way of sampling, a function that generates with a cache: (B, T)."""
    size = Size(*sizes)
    own, rows = model_of(size), np.random.default_rng(1).integers(0, size.vocabulary, (batch, size.prompt))
    if library == "minigrad":
        return {way: partial(own.generate, rows.tolist(), size.tokens, **options) for way, options in WAYS.items()}
    torch, transformers = library_module("torch"), library_module("transformers")
    widths = {"n_embd": size.width, "n_head": size.heads, "n_layer": size.layers}
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=size.vocabulary, n_positions=size.positions, **widths, **ends)
    model, tokens = transformers.GPT2LMHeadModel(config).eval(), torch.from_numpy(rows)
    values = {name: torch.from_numpy(w.numpy()) for name, w in own.to_theirs(own.state_dict()).items()}
    model.load_state_dict({**values, "lm_head.weight": values["transformer.wte.weight"]})

    def write(options: dict[str, Any]) -> Any:
        how = {"attention_mask": torch.ones_like(tokens), "max_new_tokens": size.tokens, "do_sample": bool(options)}
        with torch.inference_mode():
            return model.generate(tokens, **how, **options)[:, size.prompt :]

    return {way: partial(write, options) for way, options in WAYS.items()}


def table(rounds: int, seconds: float, sizes: tuple[Size, ...] = tuple(map(Size, VOCABULARIES))) -> Table:
    """The table, with one row per vocabulary, number of texts and way of sampling."""
    columns = ("writing", "V", "texts", "tokens/s", "transformers", "times transformers'", "goal")
    title = f"Writing {sizes[0].tokens} tokens after {sizes[0].prompt}, GPT-2 of {sizes[0].layers} × {sizes[0].width}"
    result = Table(title, columns, ("", ",.0f", ".0f", ",.0f", ",.0f", ".2f", ".1f"))
    for size in sizes:
        for batch in BATCHES:
            random = [way for way, options in WAYS.items() if options]
            sized: Any = {"sizes": list(size), "batch": batch}
            answers = compared("generation", LIBRARIES, rounds, seconds, random=random, **sized)
            for way in WAYS:
                speeds = [speed(answers[name], way, batch * size.tokens) for name in LIBRARIES]
                result.add(way, float(size.vocabulary), float(batch), *speeds, ratio(*speeds), GOAL)
    result.notes.append("the greedy texts are equal; both with a cache, on the CPU")
    return result
