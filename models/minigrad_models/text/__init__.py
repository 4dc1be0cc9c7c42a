"""Text: corpora of sentence pairs, tokenizers, and batches of tokens."""

from .batching import Recurrence, Segments, TokenBatches
from .corpus import Pairs, read_lines, read_pairs
from .pair import EncodedPairs, TokenizerPair, tokenizer_from_dict, tokenizer_pair_from_dict
from .subwords import SubwordTokenizer
from .tokenizer import Tokenizer, WordTokenizer

__all__ = ["EncodedPairs", "Pairs", "Recurrence", "Segments", "SubwordTokenizer", "TokenBatches", "Tokenizer"]
__all__ += ["TokenizerPair", "WordTokenizer", "read_lines", "read_pairs", "tokenizer_from_dict"]
__all__ += ["tokenizer_pair_from_dict"]
