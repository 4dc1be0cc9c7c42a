"""An English-Italian corpus that needs no download: a grammar writes it, a few words at a time.

    from minigrad_models.translation import english_italian

    pairs = english_italian.load("train")          # 100,000 pairs
    pairs[0].source, pairs[0].target
    english_italian.tokenize("Ti amo molto.")      # ["ti", "amo", "molto", "."]
    english_italian.normalize("i don't like cats") # "I do not like cats."

From words to corpus: `lexicon` (the words), `morphology` (their forms), `phrases` and `clauses`
(both languages built side by side), `speaker` (what to speak of), `rules` (one function for each
kind of sentence), `corpus` (splits), `tokens` (text to words and back).
"""

from __future__ import annotations

from ...text.tokenizer import SCHEMES, Scheme
from .corpus import HELD_OUT, MAX_SIZES, Pair, load
from .tokens import detokenize, normalize, tokenize

__all__ = ["HELD_OUT", "MAX_SIZES", "SCHEME", "Pair", "detokenize", "load", "normalize", "tokenize"]

SCHEME = SCHEMES["english_italian"] = Scheme(tokenize, detokenize, normalize)
"""For ``WordTokenizer``; entered among the library's schemes, so that a run's tokenizer can be saved and loaded."""
