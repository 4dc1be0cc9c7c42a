"""Recurrent translation models from before the transformer, with and without attention.

Read them alongside Cho et al. 2014 (arXiv 1406.1078), Sutskever et al. 2014 (arXiv 1409.3215), Bahdanau et al. 2015
(arXiv 1409.0473) and Luong et al. 2015 (arXiv 1508.04025). An encoder reads the source in both directions; a decoder
generates the target token by token, from its state s, the previous token, and a context c:

- "none": the encoder's last state at every step (Cho et al., section 2.2), which must represent the whole source.
- "additive": the mean of all encoder states, weighted by their match with the previous state (Bahdanau et al., 3.1).
- "multiplicative": the same mean, weighted by products with the new state (Luong et al., section 3.1, "general").

Shapes: B batch, T target length, S source length, D embedding width, H state width, L layers, V vocabulary. Masks are
True at tokens and False at padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..text.tokenizer import PAD
from .encoder_decoder import Configuration, Memory, Plain, TranslationModel

CELLS: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
ATTENTIONS = ("none", "additive", "multiplicative")
States = tuple[Tensor, ...]  # one tensor (L, B, H), or two for an LSTM


@dataclass
class Config(Configuration):
    """The hyperparameters of a recurrent translator; see ``Configuration``. Raises ValueError for an unknown cell or
    attention, or for a dropout that is not a probability."""

    vocabulary: int
    cell: str = "gru"  # or "rnn", "lstm"
    attention: str = "additive"  # or "none", "multiplicative"
    d_model: int = 256  # D, the width of the embeddings
    hidden: int = 256  # H, the width of the decoder state, and of the encoder state in each direction
    layers: int = 1  # L, of the encoder, and of the decoder
    dropout: float = 0.1  # on embeddings and on the last layer's input
    positions: int = 1024
    source_vocabulary: int | None = None

    def __post_init__(self) -> None:
        for name, value, choices in (("cell", self.cell, CELLS), ("attention", self.attention, ATTENTIONS)):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        self.check_dropouts()

    def network(self, width: int, **options: Any) -> Any:
        """The recurrent layers of an encoder or decoder, for inputs of a given width."""
        dropout = self.dropout if self.layers > 1 else 0.0
        return CELLS[self.cell](width, self.hidden, self.layers, dropout=dropout, batch_first=True, **options)


class Additive(nn.Module):
    """Bahdanau et al., appendix A.1.2: the score of source token j is v · tanh(W s + U h_j)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(2 * config.hidden, config.hidden, bias=False)
        self.score = nn.Linear(config.hidden, 1, bias=False)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Decoder states (B, T, H) and keys U h (B, S, H) -> scores (B, T, S)."""
        sums = self.query(state)[:, :, None] + keys[:, None]  # (B, T, S, H)
        return self.score(sums.tanh())[..., 0]


class Multiplicative(nn.Module):
    """Luong et al., equation 8, "general": the score of source token j is sᵀ W h_j."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.key = nn.Linear(2 * config.hidden, config.hidden, bias=False)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Decoder states (B, T, H) and keys W h (B, S, H) -> scores (B, T, S)."""
        return state @ keys.transpose(1, 2)


class Encoder(nn.Module):
    """Bahdanau et al., section 3.2: each token's state summarises the tokens before and after it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.network = config.network(config.d_model, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, States]:
        """Embeddings (B, S, D) -> token states (B, S, 2H), and the joined last states of both directions (B, 2H)."""
        packed = pack_padded_sequence(x, mask.sum(-1).cpu(), batch_first=True, enforce_sorted=False)
        out, last = self.network(packed)
        states, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        ends = last if isinstance(last, tuple) else (last,)
        return states, tuple(mg.cat((s[-2], s[-1]), -1) for s in ends)  # of the last layer: forward, backward


class Decoder(nn.Module):
    """Computes s_t from s_(t-1), the previous token and the context, then the state that predicts the next token."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, h = config.d_model, config.hidden
        self.layers, self.hidden = config.layers, h
        self.later = config.attention == "multiplicative"  # the context is computed from the new state
        self.network = config.network(d if self.later else d + 2 * h)
        states = 2 if config.cell == "lstm" else 1
        self.start = nn.ModuleList(nn.Linear(2 * h, config.layers * h) for _ in range(states))
        self.scores: nn.Module | None = None
        if config.attention != "none":
            self.scores = (Multiplicative if self.later else Additive)(config)
        self.readout = nn.Linear(h + 2 * h + d, d)
        self.dropout = nn.Dropout(config.dropout)

    def remember(self, states: Tensor, ends: States) -> Memory:
        """The memory of an encoded source, from its ``states`` (B, S, 2H) and last states ``ends`` (B, 2H). Without
        attention, the keys and values (B, 1, 2H) consist only of the last state."""
        first = [layer(end).tanh() for layer, end in zip(self.start, ends, strict=True)]
        start = tuple(s.reshape(-1, self.layers, self.hidden) for s in first)
        if self.scores is None:
            return Memory(ends[0][:, None], ends[0][:, None], start)
        return Memory(self.scores.key(states), states, start)

    def forward(self, y: Tensor, memory: Memory, mask: Tensor) -> tuple[Tensor, States]:
        """Embeddings of the previous tokens (B, T, D) -> states (B, T, D), and the last s of every layer (B, L, H)."""
        if self.scores is None:
            context = memory.values.expand(-1, y.shape[1], -1)
            s, last = self.run(mg.cat((y, context), -1), memory.start)
        elif self.later:
            s, last = self.run(y, memory.start)
            context = self.look(s, memory, mask)
        else:  # alternate attention and network steps, as each context needs the previous state
            outs, contexts, last = [], [], memory.start
            for t in range(y.shape[1]):
                contexts.append(self.look(last[0][:, -1:], memory, mask))
                out, last = self.run(mg.cat((y[:, t : t + 1], contexts[-1]), -1), last)
                outs.append(out)
            s, context = mg.cat(outs, 1), mg.cat(contexts, 1)
        return self.dropout(self.readout(mg.cat((s, context, y), -1)).tanh()), last

    def run(self, x: Tensor, states: States) -> tuple[Tensor, States]:
        """Inputs (B, T, ·) -> s of the last layer (B, T, H), and the last s of every layer (B, L, H)."""
        before = tuple(s.transpose(0, 1).contiguous() for s in states)
        out, last = self.network(x, before if len(before) > 1 else before[0])
        return out, tuple(s.transpose(0, 1) for s in (last if isinstance(last, tuple) else (last,)))

    def look(self, s: Tensor, memory: Memory, mask: Tensor) -> Tensor:
        """States (B, T, H) -> contexts (B, T, 2H), which are weighted means of the encoder states."""
        assert self.scores is not None
        return self.scores(s, memory.keys).masked_fill(~mask[:, 0], -math.inf).softmax(-1) @ memory.values


class Stepwise(Plain):
    """Decodes from the last state. Each ``next_logits`` call must add one token. N is B sentences times W beams."""

    def __init__(self, model: Seq2Seq, start: Tensor, memory: Memory, mask: Tensor) -> None:
        super().__init__(model, start, memory, mask)
        self.num_beams = 1

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens (N, T), of which only the last is new -> logits of the next token (N, V)."""
        y = self.model.vectors(tokens[:, -1:])
        out, states = self.model.decoder(y, self.memory, self.mask)
        self.memory = replace(self.memory, start=states)
        return F.linear(out[:, 0], self.model.embedding.weight)

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        if num_beams == self.num_beams and len(rows) == len(self.mask):  # no sentence has finished
            states = tuple(s[rows] for s in self.memory.start)  # beams of one sentence share its memory
            self.memory = replace(self.memory, start=states)
        else:
            self.memory, self.mask = self.memory[rows], self.mask[rows]
        self.num_beams = num_beams


class Seq2Seq(TranslationModel):
    """A recurrent encoder and decoder with the configured attention."""

    CACHED = Stepwise

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.apply(initialise)

    def encode(self, source: Tensor) -> tuple[Memory, Tensor]:
        mask = source != PAD
        states, ends = self.encoder(self.dropout(self.vectors(source, source=True)), mask)
        return self.decoder.remember(states, ends), mask[:, None, None]

    def decode(self, target: Tensor, memory: Memory, mask: Tensor) -> Tensor:
        states: Tensor = self.decoder(self.dropout(self.vectors(target)), memory, mask)[0]
        return states

    def check_attention(self) -> None:
        if self.config.attention == "none":
            raise ValueError("this model has no attention: its decoder reads one vector for the whole source")


def initialise(module: nn.Module) -> None:
    """Set each gate's recurrent weights to an orthogonal matrix, which preserves norms (Bahdanau et al., appendix B.1;
    Saxe et al. 2014), other weights by Xavier, and an LSTM's forget biases to 1 (Jozefowicz et al. 2015). If Xavier
    treated all gates as one matrix, the weights would be too small for an LSTM with attention to train well."""
    if isinstance(module, nn.RNNBase):
        for name, parameter in module.named_parameters():
            if name.startswith("weight"):
                for gate in parameter.split(module.hidden_size):
                    (nn.init.orthogonal_ if name.startswith("weight_hh") else nn.init.xavier_uniform_)(gate)
            else:
                nn.init.zeros_(parameter)
                if isinstance(module, nn.LSTM) and name.startswith("bias_ih"):
                    nn.init.ones_(parameter[module.hidden_size : 2 * module.hidden_size])
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.1)
        nn.init.zeros_(module.weight.data[PAD])
