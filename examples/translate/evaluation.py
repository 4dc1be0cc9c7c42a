"""How good the translations of unseen sentences are: exact matches, BLEU, and some to read."""

from __future__ import annotations

import random

from minigrad.text import Pairs
from models.transformer import Transformer

from .data import Corpus
from .inference import translate

SHOWN = ("I love you very much.", "My friends like tomatoes because they are tasty.", "I like cats.")


def show_samples(model: Transformer, corpus: Corpus, count: int = 5) -> None:
    """Print translations of sentences that training never saw."""
    unseen = corpus.pairs.get("test") or corpus.pairs.get("validation")
    if unseen is None:
        return
    rows = random.Random(0).sample(range(len(unseen.source)), min(count, len(unseen.source)))
    sources = [unseen.source[i] for i in rows]
    wanted = [unseen.target[i] for i in rows]
    print("\nsentences it never saw:")
    for source, found, reference in zip(
        sources, translate(model, corpus.tokenizer, sources), wanted, strict=True
    ):
        print(
            f"  {source}\n    -> {found}"
            + ("" if found == reference else f"\n       (reference: {reference})")
        )


def report(model: Transformer, corpus: Corpus, beam: int, tokenize: str) -> None:
    """Print how many unseen sentences are translated exactly, and BLEU where sacrebleu is installed.

    Args:
        beam: follow so many beginnings; 1 is greedy. tokenize: how sacrebleu splits words.
    """
    print()
    for split in ("validation", "test"):
        pairs = corpus.pairs.get(split)
        if pairs is not None:
            found = _translated(model, corpus, pairs, beam, split)
            exact = sum(a == b for a, b in zip(found, pairs.target, strict=True))
            print(
                f"{split}: {exact:,} of {len(found):,} translated exactly ({exact / len(found):.1%}), "
                f"{'greedy' if beam == 1 else f'beam {beam}'}{_bleu(found, pairs.target, tokenize)}"
            )


def _translated(model: Transformer, corpus: Corpus, pairs: Pairs, beam: int, split: str) -> list[str]:
    from tqdm import tqdm

    with tqdm(total=len(pairs.source), desc=f"translating {split}", leave=False, mininterval=1) as bar:
        return translate(model, corpus.tokenizer, pairs.source, beam, progress=bar.update)


def _bleu(found: list[str], wanted: list[str], tokenize: str) -> str:
    """BLEU as sacrebleu measures it (Post 2018), or nothing where that is not installed."""
    try:
        import sacrebleu
    except ImportError:
        return ""
    score = sacrebleu.corpus_bleu(found, [wanted], tokenize=tokenize, force=True)
    return f", BLEU {score.score:.2f} (tokenize={tokenize})"
