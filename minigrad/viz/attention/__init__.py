"""Attention of all layers and heads, as one offline page and as pictures: ``viz.attention``."""

from __future__ import annotations

from typing import Any

from ...nn.module import Module
from ...tensor import Tensor
from .attention_data import Attention, Candidate, Kind, Layer
from .attention_record import from_call, from_weights
from .attention_view import AttentionView
from .tokens import Tokens, grouped, sides

__all__ = ["Attention", "AttentionView", "Candidate", "Kind", "Layer", "attention"]


def attention(
    subject: Any, *inputs: Any, tokens: Tokens = None, sentence: int = 0, title: str = "Attention", **named: Any
) -> AttentionView:
    """What each token looks at: every layer and head of encoder, decoder and cross-attention.

        viz.attention(model, source, target, tokens=(source_tokens, target_tokens)).save("attention.html")
        viz.attention({"encoder": weights}, ["I", "like", "cats"]).save("heads.svg", layer=0, head=2)

    A decoder reads a token and writes the next one. Its rows bear the token that is read, or, with tokens for
    "written", the one that is written.

    Args:
        subject: a module, or a function of tensors, which is called once with ``inputs`` and ``named``, in
            evaluation mode; every attention that runs is recorded. Or weights: an array or Tensor
            (L, H, T, S), (H, T, S) or (T, S), a list with one (H, T, S) or (B, H, T, S) for each layer, or
            {"encoder": …, "decoder": …, "cross": …} of these. Each query and key is a token; rows sum to 1.
        inputs: for a module, its inputs; for weights, the tokens of the source, and those of the target.
        tokens: a list of texts for both sides, a pair for source and target, or {"source": …, "target": …,
            "written": …}, of which some may be left out. For a module a function from an id to a text or a
            tokenizer will do (not for what is written). By default the module's ``tokenizer``, else the ids, or
            numbers.
        sentence: which of a batch; of choices (B, C, T), which of B · C. title: of the page.
        named: the module's inputs by name.

    Raises:
        TypeError: neither a module nor weights; tokens that are not texts.
        ValueError: no attention, tokens that do not fit, weights that are not rows of probabilities.
    """
    if isinstance(subject, Module) or (callable(subject) and not isinstance(subject, Tensor)):
        both = sides(getattr(subject, "tokenizer", None) if tokens is None else tokens)
        return AttentionView(grouped(both, *from_call(subject, inputs, named, sentence)), title)
    texts = all(isinstance(a, list | tuple) and all(isinstance(text, str) for text in a) for a in inputs)
    if named or not texts or len(inputs) > 2 or (inputs and tokens is not None):
        wrong = f"an argument {next(iter(named))!r}" if named else f"{len(inputs)} more"
        raise TypeError(
            f"weights are followed by the tokens of the source, and those of the target (or by tokens=…): "
            f"lists of texts; got {wrong}. To record a model's attention, give the module itself"
        )
    both = sides(tokens if not inputs else inputs[0] if len(inputs) == 1 else inputs)
    return AttentionView(grouped(both, from_weights(subject, both, sentence)), title)
