"""Generation on the GPU emulator: the host waits once per token, in every kind of search."""

from collections.abc import Callable
from typing import Any

import minigrad as mg
from minigrad_models.generation.beam_search import RepetitionPenalty, beam_search, greedy, sample
from minigrad_models.gpt import gpt2, transformer_xl
from minigrad_models.translation import seq2seq, transformer
from tests.support import launches, strict
from tests.support.cases import cases

TOKENS = 6
SEARCHES: dict[str, Callable[..., Any]] = {
    "greedy": lambda decoder, eos_token_id: greedy(decoder, TOKENS, eos_token_id),
    "sample": lambda decoder, eos_token_id: sample(decoder, TOKENS, 1.3, 5, 0.9, eos_token_id),
    "sample from all": lambda decoder, eos_token_id: sample(decoder, TOKENS, eos_token_id=eos_token_id),
    "beam search": lambda decoder, eos_token_id: beam_search(decoder, 3, TOKENS, eos_token_id=eos_token_id),
    "penalty": lambda decoder, eos_token_id: greedy(RepetitionPenalty(decoder, 1.2), TOKENS, eos_token_id),
}


def decoder_of(name: str) -> Any:
    strict.install(emulate=False)
    mg.manual_seed(0)
    models: dict[str, Callable[[], Any]] = {
        "gpt2": lambda: gpt2.GPT2(gpt2.Config(20, 16, 8, 2, 2)),
        "transformer-xl": lambda: transformer_xl.TransformerXL(transformer_xl.Config(20, 8, 2, 2, 16, 8, 8)),
        "transformer": lambda: transformer.Transformer(transformer.Config(20, 8, 2, 2, 16)),
        "recurrent": lambda: seq2seq.Seq2Seq(seq2seq.Config(20, d_model=8, hidden=8)),
    }
    model = models[name]().to("strict").eval()
    is_language_model = name in ("gpt2", "transformer-xl")
    source = [[3, 4, 5], [6], [7, 8]] if is_language_model else mg.tensor([[4, 5, 6], [7, 8, 0]], device="strict")
    return model.begin(source)


OTHERS = [(name, "beam search") for name in ("transformer-xl", "transformer", "recurrent")]


@cases("name, search", [*(("gpt2", search) for search in SEARCHES), *OTHERS])
def test_one_wait_per_token(name: str, search: str) -> None:
    decoder = decoder_of(name)
    with launches.count() as counts, mg.no_grad():
        SEARCHES[search](decoder, None)
    assert counts.syncs == counts.sync_names["get"] == TOKENS


def test_finished_sentences_cost_no_waits() -> None:
    decoder = decoder_of("gpt2")
    with launches.count() as counts:
        texts = greedy(decoder, [1, 3, TOKENS], None)
    assert [len(text.tokens) for text in texts] == [1, 3, TOKENS]
    assert counts.syncs == TOKENS
