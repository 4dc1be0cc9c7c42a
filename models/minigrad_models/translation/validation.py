"""Evaluation during training, on the validation set."""

from __future__ import annotations

import math

import numpy as np

from ..text import Pairs, TokenBatches
from ..text.scores import bleu
from .encoder_decoder import TranslationModel, pad
from .translator import Translator

MOST_VALIDATED = 2000  # pairs to translate at each evaluation


class Evaluation:
    """BLEU of greedy translations of the validation set, the share that is right, and the loss per token."""

    def __init__(self, translator: Translator, pairs: Pairs) -> None:
        self.translator = translator
        self.source = list(pairs.source[:MOST_VALIDATED])
        self.target = list(pairs.target[:MOST_VALIDATED])
        sides = translator.tokenizers
        most = translator.model.config.positions
        encoded = [sides.encode(a, b) for a, b in zip(self.source, self.target, strict=True)]
        self.encoded = [e for e in encoded if max(map(len, e)) <= most]
        lengths = np.array([list(map(len, e)) for e in self.encoded], dtype=np.int32).reshape(-1, 2)
        tokens = translator.settings.training.batch_tokens
        self.batches = list(TokenBatches(lengths, tokens, shuffle=False).epoch(0)) if len(lengths) else []

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Metrics by name: "bleu" and "exact" (right to the letter) from 0 to 100, "loss" in nats per token."""
        translator = Translator(model, self.translator.tokenizers, self.translator.settings)
        translations = translator.translate(self.source, beam=1)
        tokenizer = self.translator.settings.bleu_tokenizer
        score = bleu([t.text for t in translations], self.target, tokenizer).value
        right = sum(t.text == wanted for t, wanted in zip(translations, self.target, strict=True))
        return {"bleu": score, "exact": 100 * right / len(self.target), "loss": self.loss(model)}

    def loss(self, model: TranslationModel) -> float:
        """The mean cross-entropy of the target's tokens, without label smoothing; NaN if there are none."""
        device = model.embedding.weight.device
        total = count = 0.0
        for numbers in self.batches:
            rows = [self.encoded[i] for i in numbers]
            source, target = pad([a for a, _ in rows], device), pad([b for _, b in rows], device)
            tokens = sum(len(b) - 1 for _, b in rows)
            total += float(model.loss(source, target)) * tokens
            count += tokens
        return total / count if count else math.nan
