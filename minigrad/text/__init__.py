"""Text: corpora of sentence pairs, tokenizers, batches of tokens."""

from .batching import batches
from .corpus import Pairs, read_pairs
from .tokenizer import SubwordTokenizer, Tokenizer, WordTokenizer, tokenizer_from_dict

__all__ = ["Pairs", "SubwordTokenizer", "Tokenizer", "WordTokenizer", "batches", "read_pairs",
           "tokenizer_from_dict"]  # fmt: skip
