"""Text: corpora of sentence pairs, tokenizers, batches of tokens."""

from .batching import TokenBatches
from .corpus import Pairs, read_pairs
from .encoded import EncodedPairs
from .lines import Lines
from .pair import TokenizerPair, tokenizer_from_dict, tokenizer_pair_from_dict
from .segments import Recurrence, Segments
from .subword_dropout import SubwordSampler
from .subwords import SubwordTokenizer
from .tokenizer import Tokenizer, WordTokenizer

__all__ = ["EncodedPairs", "Lines", "Pairs", "Recurrence", "Segments", "SubwordSampler", "SubwordTokenizer"]
__all__ += ["TokenBatches", "Tokenizer", "TokenizerPair", "WordTokenizer", "read_pairs", "tokenizer_from_dict"]
__all__ += ["tokenizer_pair_from_dict"]
