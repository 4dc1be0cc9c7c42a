"""GPT-2, "Language Models are Unsupervised Multitask Learners" (Radford et al. 2019): a causal language model.

A stack of transformer layers as in GPT (Radford et al. 2018), with a layer norm before each sub-layer and after the
last layer (section 2.3). ``GPT2.from_pretrained(folder)`` reads the weights of transformers' ``GPT2LMHeadModel``.

Shapes: B batch, T tokens, D model width, H heads, L layers, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from minigrad import Tensor, nn

from ..architectures import pretrained
from ..architectures.layers import TransformerLayer
from ..architectures.pretrained import Pretrained, Rule, Weights, check_sizes
from ..generation.continuation import Causal

RULES = (
    Rule("wte", "embedding", (".weight",)),
    Rule("wpe", "position_embedding", (".weight",)),
    Rule("h.{}.ln_1", "layers.{}.attention_residual.norm"),
    Rule(
        "h.{}.attn.c_attn",
        tuple(f"layers.{{}}.attention.{part}" for part in ("query", "key", "value")),
        inputs_first=True,
    ),
    Rule("h.{}.attn.c_proj", "layers.{}.attention.output", inputs_first=True),
    Rule("h.{}.ln_2", "layers.{}.feed_forward_residual.norm"),
    Rule("h.{}.mlp.c_fc", "layers.{}.feed_forward.inner", inputs_first=True),
    Rule("h.{}.mlp.c_proj", "layers.{}.feed_forward.outer", inputs_first=True),
    Rule("ln_f", "norm"),
)
FIELDS = {
    "vocab_size": "vocabulary",
    "n_positions": "positions",
    "n_embd": "d_model",
    "n_head": "heads",
    "n_layer": "layers",
    "n_inner": "d_ff",
    "resid_pdrop": "dropout",
    "embd_pdrop": "embedding_dropout",
    "attn_pdrop": "attention_dropout",
    "activation_function": "activation",
    "layer_norm_epsilon": "epsilon",
    "tie_word_embeddings": "tied",
}
FIXED = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
MASKS = (".attn.bias", ".attn.masked_bias")  # buffers in older files: the causal mask
PREFIX, HEAD = "transformer.", "lm_head.weight"


@dataclass
class Config:
    """The hyperparameters. The defaults describe the smallest model (table 2: 124 million weights). Raises ValueError
    if a size is below 1, H does not divide D, a dropout is not a probability, or the activation is unknown."""

    vocabulary: int = 50257  # V
    positions: int = 1024  # the context: the maximum number of tokens that the model sees
    d_model: int = 768  # D
    heads: int = 12  # H, which divides D
    layers: int = 12  # L
    d_ff: int = 0  # the width inside the feed-forward networks; 0 for 4 D
    dropout: float = 0.1  # on sub-layer outputs
    embedding_dropout: float = 0.1  # on the sums of embeddings and positions
    attention_dropout: float = 0.1  # on attention weights
    activation: str = "gelu_tanh"  # as in GPT-2; or "gelu", "relu"
    epsilon: float = 1e-5  # in the layer norms
    tied: bool = True  # the last linear layer is the embedding

    def __post_init__(self) -> None:
        self.d_ff = self.d_ff or 4 * self.d_model
        check_sizes(self)

    # The layers read these as well; see ``LayerConfig``.
    activation_dropout, norm_first, position_encoding = 0.0, True, "learned"

    def published(self) -> dict[str, Any]:
        return pretrained.to_published(self, FIELDS)


class GPT2(Causal, Pretrained):
    """Tokens -> logits of the next token at each position; ``generate`` continues text."""

    MODEL_TYPE, ARCHITECTURE, TABLES = "gpt2", "GPT2LMHeadModel", ("embedding",)
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model)
        self.position_embedding = nn.Embedding(config.positions, config.d_model)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList(TransformerLayer(config, causal=True) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d_model, config.epsilon)
        if not config.tied:
            self.head = nn.Linear(config.d_model, config.vocabulary, bias=False)
        initialise(self)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.dropout(self.embedding(tokens) + self.position_embedding(positions))

    @property
    def head_weight(self) -> Tensor:
        return self.embedding.weight if self.config.tied else self.head.weight

    @classmethod
    def configured(cls, published: dict[str, Any]) -> Config:
        return pretrained.from_published(Config, published, FIELDS, FIXED)

    def to_ours(self, weights: Weights) -> tuple[Weights, list[str]]:
        """See ``Pretrained``. The file may store linear layers as (out, in), or use the names of the bare model."""
        weights = {name.removeprefix(PREFIX): w for name, w in weights.items() if not name.endswith(MASKS)}
        head = weights.pop(HEAD, None)
        joint = weights.get("h.0.attn.c_attn.weight")
        straight = joint is not None and tuple(joint.shape) == (3 * self.config.d_model, self.config.d_model)
        rules = [replace(rule, inputs_first=rule.inputs_first and not straight) for rule in RULES]
        ours, unknown = pretrained.to_ours(weights, rules, self.config.layers)
        if head is not None and not self.config.tied:
            ours["head.weight"] = head
        return ours, unknown

    def to_theirs(self, weights: Mapping[str, Tensor]) -> Weights:
        theirs = {PREFIX + name: w for name, w in pretrained.to_theirs(weights, RULES, self.config.layers).items()}
        return theirs | ({HEAD: weights["head.weight"]} if "head.weight" in weights else {})


def initialise(model: GPT2) -> None:
    """Section 2.3, and section 4.1 of the GPT paper: draw weights from N(0, 0.02²), and set biases to zero. The weights
    of the 2 L layers that add to the residual stream are divided by √(2 L)."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("attention.output.weight", "feed_forward.outer.weight"))
            nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * model.config.layers) if adds else 0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
