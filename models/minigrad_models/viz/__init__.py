"""Pictures of what models do: ``training("runs/first")``, its curves and weights; ``piano_roll("song.mid")``, music to
see and to hear; ``positional_encoding(50, 128)``, sinusoids; ``embedding(weight, words)``, words near each other;
``logit_lens(model, tokens)``, what a language model would say after each layer. They are drawn by ``minigrad.viz``, and
save and show themselves as its pictures do."""

from .embedding import embedding
from .logit_lens import logit_lens
from .piano_roll import piano_roll
from .positional_encoding import positional_encoding
from .training import training

__all__ = ["embedding", "logit_lens", "piano_roll", "positional_encoding", "training"]
