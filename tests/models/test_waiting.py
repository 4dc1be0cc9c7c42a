"""Generation on the stand-in for a GPU: the host waits once a token, whatever the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg
from minigrad.models import gpt2, seq2seq, transformer, transformer_xl
from minigrad.text.generate import RepetitionPenalty, beam_search, greedy, sample
from tests.support import launches, strict

TOKENS = 6
SEARCHES: dict[str, Callable[..., Any]] = {
    "greedy": lambda decoder, eos: greedy(decoder, TOKENS, eos),
    "sample": lambda decoder, eos: sample(decoder, TOKENS, 1.3, 5, 0.9, eos),
    "sample from all": lambda decoder, eos: sample(decoder, TOKENS, eos=eos),
    "beam search": lambda decoder, eos: beam_search(decoder, 3, TOKENS, eos=eos),
    "penalty": lambda decoder, eos: greedy(RepetitionPenalty(decoder, 1.2), TOKENS, eos),
}


def language_model(kind: Any) -> Any:
    return kind.begin([[3, 4, 5], [6], [7, 8]])


def translator(model: Any) -> Any:
    return model.begin(mg.tensor([[4, 5, 6], [7, 8, 0]], device="strict"))


DECODERS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: language_model(gpt2.GPT2(gpt2.Config(20, 16, 8, 2, 2)).to("strict").eval()),
    "transformer-xl": lambda: language_model(
        transformer_xl.TransformerXL(transformer_xl.Config(20, 8, 2, 2, 16, 8, 8)).to("strict").eval()
    ),
    "transformer": lambda: translator(transformer.Transformer(transformer.Config(20, 8, 2, 2, 16)).to("strict").eval()),
    "recurrent": lambda: translator(seq2seq.Seq2Seq(seq2seq.Config(20, d_model=8, hidden=8)).to("strict").eval()),
}


@pytest.mark.parametrize(
    ("decoder", "search"),
    [
        *(("gpt2", search) for search in SEARCHES),
        *((decoder, "beam search") for decoder in DECODERS if decoder != "gpt2"),
    ],
)
def test_one_wait_a_token(decoder: str, search: str) -> None:
    strict.install(emulate=False)
    mg.manual_seed(0)
    beginning = DECODERS[decoder]()
    with launches.count() as counts, mg.no_grad():
        SEARCHES[search](beginning, None)
    assert counts.syncs == counts.sync_names["get"] == TOKENS


def test_those_that_end_cost_no_more() -> None:
    strict.install(emulate=False)
    mg.manual_seed(0)
    decoder = DECODERS["gpt2"]()
    with launches.count() as counts:
        texts = greedy(decoder, [1, 3, TOKENS], None)
    assert [len(text.tokens) for text in texts] == [1, 3, TOKENS]
    assert counts.syncs == TOKENS
