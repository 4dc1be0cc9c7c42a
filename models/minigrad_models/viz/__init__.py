"""Visualisations of models: ``training("runs/first")`` (curves and weights of a training run),
``piano_roll("song.mid")`` (music to see and hear), ``positional_encoding(50, 128)`` (sinusoids), ``embedding(weight,
words)`` (a map of words) and ``logit_lens(model, tokens)`` (a language model's predictions after each layer). They are
drawn, shown and saved using ``minigrad.viz``."""

from .embedding import embedding
from .logit_lens import logit_lens
from .piano_roll import piano_roll
from .positional_encoding import positional_encoding
from .training import training

__all__ = ["embedding", "logit_lens", "piano_roll", "positional_encoding", "training"]
