"""Text generation from next-token probabilities by greedy search, sampling or beam search.

The model is a ``Decoder``: an object that returns the logits of the next token, with or without a cache.
Finished sentences leave the batch, and each sentence has its own limit, so sentences do not affect each other. All
searches raise ValueError for arguments out of range, and for NaN logits. They wait for a GPU once per token.

Shapes: B sentences, W beams per sentence, N = B·W rows, T tokens so far, S source length, V vocabulary.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import minigrad as mg
from minigrad import Tensor, arange, cat, multinomial, where, zeros
from minigrad.autograd import no_grad

from ..inputs import renamed
from ..text.scores import mutual_bleu
from ..text.tokenizer import EOS

old_names = renamed(beam_size="num_beams", max_length="max_new_tokens", eos="eos_token_id")
NEVER = -1  # not the id of any token
Limits = int | Sequence[int]
Choose = Callable[[Tensor], Tensor]
LengthPenalty = Callable[[int], float]
OnToken = Callable[[int, int], None]
Rows = list[list[Any]]


class Decoder(Protocol):
    """Returns the logits of the next token. It starts with one row per sentence. ``start`` (B, T), int64, has
    the first tokens; for a translation, this is just BOS."""

    start: Tensor

    def next_logits(self, tokens: Tensor) -> Tensor:
        """Takes the tokens so far (N, T), one more on each call, and returns the logits (N, V) of the next token."""

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        """Continue row rows[n] as row n. From now on each sentence has ``num_beams`` adjacent rows. Sentences may be
        left out; the others keep their order."""


@dataclass(frozen=True)
class Hypothesis:
    """A generated sentence."""

    tokens: list[int]  # EOS is last, unless the limit cut it off
    score: float  # for ranking: the log-probability, with beam search's length penalty
    log_probability: float  # ln P(tokens | source)


class RepetitionPenalty:
    """A decoder that makes tokens that already occur in the output or prompt less likely: it divides positive logits
    by the penalty, and multiplies negative logits by it (Keskar et al. 2019, arXiv 1909.05858, section 4.1). The search
    computes its scores from these logits. Raises ValueError if the penalty is not positive."""

    def __init__(self, decoder: Decoder, penalty: float) -> None:
        if not (math.isfinite(penalty) and penalty > 0):
            raise ValueError(f"repetition_penalty must be a positive number, not {penalty}")
        self.decoder, self.penalty, self.start = decoder, penalty, decoder.start

    def next_logits(self, tokens: Tensor) -> Tensor:
        logits = self.decoder.next_logits(tokens)
        before = logits.gather(1, tokens)
        return logits.scatter(1, tokens, where(before > 0, before / self.penalty, before * self.penalty))

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        self.decoder.reorder(rows, num_beams)


# One beam per sentence -------------------------------------------------------------------------------------


@old_names
def greedy(
    decoder: Decoder, max_new_tokens: Limits = 100, eos_token_id: int | None = EOS, on_token: OnToken | None = None
) -> list[Hypothesis]:
    """Choose the most likely token at each step. A sentence ends with ``eos_token_id`` (never, if None), or after
    ``max_new_tokens``, counting EOS; this is one limit for all sentences or one for each. ``on_token`` is called with
    each token and the index of its sentence as soon as the token is generated."""
    return _generate(decoder, max_new_tokens, lambda logits: logits.argmax(-1), eos_token_id, on_token)


@old_names
def sample(
    decoder: Decoder,
    max_new_tokens: Limits = 100,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = EOS,
    on_token: OnToken | None = None,
) -> list[Hypothesis]:
    """Sample tokens from softmax(logits / temperature). ``top_k`` keeps only the ``top_k`` most likely tokens.
    ``top_p`` then keeps only the smallest set of most likely tokens with a total probability of at least ``top_p``
    (nucleus sampling: Holtzman et al. 2020, arXiv 1904.09751, section 3.1). All sentences share one random number
    generator (``minigrad.manual_seed``), so a result depends on the rest of the batch. Scores are the model's
    log-probabilities, before temperature, top_k or top_p is applied. For the other arguments, see ``greedy``."""
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature}; for 0, use greedy()")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")

    def choose(logits: Tensor) -> Tensor:
        p, ids = _likeliest(logits, temperature, top_k, top_p)
        place = multinomial(p, 1)
        return (place if ids is None else ids.gather(1, place))[:, 0]

    return _generate(decoder, max_new_tokens, choose, eos_token_id, on_token)


def _likeliest(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None
) -> tuple[Tensor, Tensor | None]:
    """A distribution over a part of the vocabulary, so that sampling is cheap. Returns probabilities (N, K) that sum to
    1, and their tokens (N, K), or None instead if K is V and they are in vocabulary order."""
    logits, ids = (logits - logits.amax(-1, keepdim=True)) / temperature, None
    if top_k is not None and top_k < logits.shape[-1]:
        logits, ids = logits.topk(top_k)
    p = logits.softmax(-1)
    if top_p is not None:
        if ids is None:
            p, ids = p.sort(-1, descending=True)
        before = p.cumsum(-1) - p  # a token is kept if more likely ones do not reach top_p
        before[:, 0] = 0.0  # the most likely token is always kept
        p = p.masked_fill(before >= top_p, 0.0)
        p = p / p.sum(-1, keepdim=True)
    return p, ids


@no_grad()
def _generate(
    decoder: Decoder, max_new_tokens: Limits, choose: Choose, eos_token_id: int | None, on_token: OnToken | None
) -> list[Hypothesis]:
    """Append the tokens that ``choose`` selects from logits (N, V), until all sentences have ended."""
    tokens = decoder.start
    limits = limits_of(max_new_tokens, len(tokens))
    texts: list[list[int]] = [[] for _ in limits]
    finished: dict[int, Hypothesis] = {}
    active = list(range(len(tokens)))  # the sentence of each row
    total = zeros(len(tokens), device=tokens.device)
    length = 0
    while active:
        length += 1
        logits = decoder.next_logits(tokens)
        norm = logits.logsumexp(-1)
        if norm.device.type == "cpu":  # before sampling; this would synchronise a GPU
            _check(norm.tolist(), length)
        picks = choose(logits)[:, None]
        total = total + logits.gather(-1, picks)[:, 0] - norm
        tokens = cat((tokens, picks), 1)
        norms, new, log_ps = _read(norm, picks[:, 0], total)
        _check(norms, length)
        for i, token in zip(active, new, strict=True):
            texts[i].append(token)
            if on_token is not None:
                on_token(i, token)
        ended = [t == eos_token_id or length == limits[i] for t, i in zip(new, active, strict=True)]
        if any(ended):
            for i, log_p, is_over in zip(active, log_ps, ended, strict=True):
                if is_over:
                    finished[i] = Hypothesis(texts[i], log_p, log_p)
            active, rows = _remaining(active, ended, tokens)
            tokens, total = tokens[rows], total[rows]
            decoder.reorder(rows, 1)
    return [finished[i] for i in range(len(limits))]


def _remaining(active: list[int], ended: list[bool], like: Tensor) -> tuple[list[int], Tensor]:
    """The sentences that have not ended, and a tensor of their row indices on the device of ``like``."""
    places = [n for n, is_over in enumerate(ended) if not is_over]
    return [active[n] for n in places], mg.tensor(places, device=like.device).long()


# Several beams per sentence --------------------------------------------------------------------------------


@old_names
@no_grad()
def beam_search(
    decoder: Decoder,
    num_beams: int = 5,
    max_new_tokens: Limits = 100,
    length_penalty: float | LengthPenalty = 0.6,
    early_stopping: bool = True,
    eos_token_id: int | None = EOS,
) -> list[list[Hypothesis]]:
    """Beam search: continue the W most likely prefixes of each sentence, and rank finished hypotheses by

        log P(Y | X) / lp(Y),    lp(Y) = ((5 + |Y|) / 6)^α

    (Wu et al. 2016, arXiv 1609.08144, equation 14, without its coverage penalty), where |Y| includes EOS. At each step,
    all one-token continuations of a sentence's prefixes are sorted by log P. Those among the first W that end become
    finished hypotheses, and the W best others are continued. Returns at most W hypotheses for each sentence, best
    first. If none ended before the limit, its beams are returned.

    Args:
        max_new_tokens, eos_token_id: see ``greedy``.
        num_beams: W. With early_stopping, W = 1 returns the same result as ``greedy``.
        length_penalty: α (0 ranks by log P, which favours short sentences), or lp itself as a function of the length.
        early_stopping: if True, a sentence is done after W finished hypotheses, as in fairseq, although a longer one
            might rank higher. If False, it is done when no beam can beat the W-th finished hypothesis. log P only
            falls, so no continuation of Y scores more than log P(Y) / the largest lp over the lengths up to the limit.
    """
    if num_beams < 1:
        raise ValueError(f"num_beams must be at least 1, not {num_beams}")
    divisor = length_penalty if callable(length_penalty) else wu(length_penalty)
    limits = limits_of(max_new_tokens, len(decoder.start))
    beam = _Beam(decoder, num_beams, limits, divisor, early_stopping, eos_token_id)
    length = 0
    while beam.active:
        beam.step(length := length + 1)
    return [hypotheses[:num_beams] for hypotheses in beam.finished]


def wu(alpha: float) -> LengthPenalty:
    """((5 + |Y|) / 6)^α as a function of |Y| (Wu et al. 2016, equation 14). Raises ValueError if α is not finite."""
    grow = power(alpha)
    return lambda length: grow((5 + length) / 6)


def power(alpha: float) -> Callable[[float], float]:
    """|Y|^α as a function of |Y|, as in fairseq's ``--lenpen``. For the same α, it favours long sentences more than
    ``wu``: from 10 to 20 tokens, it grows by a factor of 2^α, and ``wu`` by (25/15)^α. Raises the same errors."""
    if not math.isfinite(alpha):
        raise ValueError(f"length_penalty must be a finite number, not {alpha}")
    return lambda length: float(length) ** alpha


@dataclass
class _Beam:
    """The beams of all b active sentences. For the arguments see ``beam_search``."""

    decoder: Decoder
    size: int
    limits: list[int]
    divisor: LengthPenalty
    early_stopping: bool
    eos_token_id: int | None

    def __post_init__(self) -> None:
        # (N, T), with the W rows of a sentence together, most likely first; W is initially 1
        self.tokens = self.decoder.start
        self.active = list(range(len(self.limits)))  # the indices of the sentences that are not done
        self.texts: list[list[int]] = [[] for _ in self.limits]  # the new tokens of each row
        self.log_p = zeros(len(self.limits), 1, device=self.tokens.device)  # of each row (b, W)
        self.finished: list[list[Hypothesis]] = [[] for _ in self.limits]  # of each sentence, best first

    def step(self, length: int) -> None:
        """Append a token to the beams, and rank the beams that end."""
        norm, log_p, rows, tokens = self.candidates()
        size = min(self.size, log_p.shape[1] - self.log_p.shape[1])  # each row can end once, so this many continue
        ended = tokens == (NEVER if self.eos_token_id is None else self.eos_token_id)
        self.log_p, place = log_p.masked_fill(ended, -math.inf).topk(size)
        best = (log_p[:, : self.size], rows[:, : self.size], tokens[:, : self.size])
        rows, tokens = rows.gather(1, place), tokens.gather(1, place)
        norms, *numbers = _read(norm.flatten(), *best, self.log_p, rows, tokens)
        _check(norms, length)
        over = self.finish(length, numbers[:3], numbers[3:])
        if any(over):
            self.active, stay = _remaining(self.active, over, rows)
            self.log_p, rows, tokens = self.log_p[stay], rows[stay], tokens[stay]
        rows = rows.flatten()
        self.tokens = cat((self.tokens[rows], tokens.view(-1, 1)), 1)
        if self.active:
            self.decoder.reorder(rows, size)

    def candidates(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Returns ln Σ eˣ of each row's logits (N, 1), and log P, row and token of each sentence's 2W best
        continuations (b, 2W), best first. Even if W of them end, W remain, and each is among the 2W best of its row."""
        logits = self.decoder.next_logits(self.tokens)
        norm = logits.logsumexp(-1, keepdim=True)
        best, ids = logits.topk(min(2 * self.size, logits.shape[1]))
        each = best.shape[1]
        log_p = (best - norm + self.log_p.view(-1, 1)).view(len(self.active), -1)
        log_p, place = log_p.topk(min(2 * self.size, log_p.shape[1]))
        first = arange(len(self.active), device=place.device)[:, None] * self.log_p.shape[1]
        return norm, log_p, first + place // each, ids.view(len(self.active), -1).gather(1, place)

    def is_over(self, sentence: int, length: int, best: float) -> bool:
        """Whether a sentence is done; ``best`` is the largest log P of its beams."""
        hypotheses, limit = self.finished[sentence], self.limits[sentence]
        if length >= limit or len(hypotheses) < self.size:
            return length >= limit
        bound = best / max(map(self.divisor, range(length + 1, limit + 1)))
        return self.early_stopping or hypotheses[self.size - 1].score >= bound

    def finish(self, length: int, best: list[Rows], following: list[Rows]) -> list[bool]:
        """Rank the beams that end, and return whether each sentence is done. ``best`` has the W best candidates, and
        ``following`` the W best that do not end (at a limit, they end if no other has). Both have log P, rows and
        tokens, (b, W) each."""
        over, texts = [], []
        for n, i in enumerate(self.active):
            for p, row, token in zip(*(column[n] for column in best), strict=True):
                if token == self.eos_token_id and p > -math.inf:
                    self.rank(i, [*self.texts[row], token], p)
            over.append(self.is_over(i, length, following[0][n][0]))
            endless = over[-1] and not self.finished[i]
            for p, row, token in zip(*(column[n] for column in following), strict=True):
                text = [*self.texts[row], token]
                if endless:
                    self.rank(i, text, p)
                elif not over[-1]:
                    texts.append(text)
        self.texts = texts
        return over

    def rank(self, sentence: int, tokens: list[int], log_p: float) -> None:
        hypotheses = self.finished[sentence]
        hypotheses.append(Hypothesis(tokens, log_p / self.divisor(len(tokens)), log_p))
        hypotheses.sort(key=lambda h: -h.score)


def limits_of(max_new_tokens: Limits, batch: int) -> list[int]:
    """The limit of each sentence. Raises ValueError if a limit is below 1 or there are not ``batch`` limits."""
    limits = [max_new_tokens] * batch if isinstance(max_new_tokens, int) else list(max_new_tokens)
    if len(limits) != batch:
        raise ValueError(f"max_new_tokens has {len(limits)} limits for {batch} sentences")
    if min([max_new_tokens] if isinstance(max_new_tokens, int) else limits, default=1) < 1:
        raise ValueError(f"max_new_tokens must be at least 1, not {max_new_tokens}")
    return limits


def _read(*tensors: Tensor) -> list[Any]:
    """Tensors as nested lists. A GPU's are copied together, as float64, which can represent every token."""
    if tensors[0].device.type != "cpu":
        packed = cat([x.flatten().double() for x in tensors]).cpu().split([x.numel() for x in tensors])
        tensors = tuple(part.view(x.shape).to(x.dtype) for part, x in zip(packed, tensors, strict=True))
    return [x.tolist() for x in tensors]


def _check(norms: list[float], length: int) -> None:
    """Raise ValueError if ln Σ eˣ of a row is not finite, because one of the row's logits is not."""
    if not all(map(math.isfinite, norms)):
        raise ValueError(f"the decoder's logits for token {length} are NaN or infinite. Has training diverged?")


# Minimum Bayes risk -------------------------------------------------------------------------------------------


def minimum_bayes_risk(
    hypotheses: Sequence[Hypothesis], sharpness: float = 8.0, eos_token_id: int = EOS
) -> list[Hypothesis]:
    """Sort the hypotheses of a sentence by expected BLEU, highest first (Kumar & Byrne 2004, "Minimum Bayes-Risk
    Decoding for Statistical Machine Translation", section 3, on a list of hypotheses). The sort is stable. A hypothesis
    counts as a reference with probability softmax(sharpness · score). With a sharpness of 0, all count equally; a
    higher sharpness puts more weight on the best score. 8 suits scores that are mean log-probabilities per token
    (``power(1.0)``). The final ``eos_token_id`` is not compared. Raises ValueError if the sharpness is negative or not
    finite, and ImportError if sacrebleu is missing."""
    if not 0 <= sharpness < math.inf:
        raise ValueError(f"sharpness must be finite and at least 0, not {sharpness}")
    texts = [[t for t in h.tokens if t != eos_token_id] for h in hypotheses]
    best = max((h.score for h in hypotheses), default=0.0)
    weights = [math.exp(sharpness * (h.score - best)) for h in hypotheses]
    expected = [sum(map(operator.mul, weights, row)) for row in mutual_bleu(texts)]
    order = sorted(range(len(hypotheses)), key=lambda i: -expected[i])
    return [hypotheses[i] for i in order]
