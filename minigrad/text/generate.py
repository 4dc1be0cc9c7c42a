"""Writing with a model that tells the probabilities of the next token: greedy, by sampling, by beam search.

The model is a ``Decoder``: whoever can say logits after a beginning, plainly or with a cache. Sentences that
have ended leave the batch, and each has its own limit, so that no sentence changes what is found for another.

Shapes: B sentences, W beginnings of each (beam search), N = B·W rows, T tokens so far, S source length, V
vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol, cast

import minigrad as mg

from ..tensor import Tensor
from .tokenizer import EOS

MaxLength = int | Sequence[int]
Choose = Callable[[Tensor], Tensor]
LengthPenalty = Callable[[int], float]


class Decoder(Protocol):
    """What gives the logits of the next token; it begins with one row for each sentence.

    Attributes:
        start: how each sentence begins (B, T), int64: with the BOS symbol alone, for a translation.
    """

    start: Tensor

    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens so far (N, T), one more at each call -> logits (N, V) of the next."""

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Row n goes on from what was row rows[n]. From now on each sentence has ``beam_size`` rows, which
        stand together; sentences may be left out, and keep their order."""


class AttentiveDecoder(Decoder, Protocol):
    """A decoder that also tells where it looked, for the coverage penalty."""

    def attention(self) -> Tensor:
        """What the last token given took from each source token (N, S); rows sum to 1, padding has 0."""

    def source_mask(self) -> Tensor:
        """Which places of the source hold tokens (N, S), bool."""


@dataclass(frozen=True)
class Hypothesis:
    """A sentence that was written.

    Attributes:
        tokens: its ids, the end symbol last; without one it was cut off at the limit.
        score: what it is ranked by: the log-probability under the penalties of beam search.
        log_probability: ln P(tokens | source), as the model has it.
    """

    tokens: list[int]
    score: float
    log_probability: float


# One beginning at a time ----------------------------------------------------------------------------------


def greedy(decoder: Decoder, max_length: MaxLength = 100, eos: int = EOS) -> list[Hypothesis]:
    """The likeliest token at each step.

    Args:
        max_length: the most tokens to write, the end symbol included; for all, or one for each sentence.
        eos: the symbol that ends a sentence.

    Raises:
        ValueError: a max_length below 1; logits that are NaN.
    """
    return _write(decoder, max_length, lambda logits: logits.argmax(-1), eos)


def sample(
    decoder: Decoder,
    max_length: MaxLength = 100,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int = EOS,
) -> list[Hypothesis]:
    """Tokens drawn from softmax(logits / temperature), or from its likeliest alone.

    All sentences share one stream of random numbers (``mg.manual_seed``): what is drawn for one depends on
    the others in its batch. Scores are the model's log-probabilities, whatever the three arguments are.

    Args:
        max_length, eos: as for ``greedy``.
        temperature: towards 0 ever more like ``greedy``; above 1 more daring.
        top_k: only the k likeliest tokens; of those as likely as the last of them, any will do.
        top_p: only the fewest tokens that together have this probability, at that temperature and among the
            ``top_k`` (nucleus sampling: Holtzman et al. 2020, arXiv 1904.09751, section 3.1).

    Raises:
        ValueError: temperature, top_k, top_p or max_length out of range; logits that are NaN.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature}; greedy() is its limit at 0")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")

    def choose(logits: Tensor) -> Tensor:
        return mg.multinomial(probabilities(logits, temperature, top_k, top_p), 1)[:, 0]

    return _write(decoder, max_length, choose, eos)


def probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """What ``sample`` draws from: logits (N, V) -> probabilities (N, V) that sum to 1."""
    logits = (logits - logits.amax(-1, keepdim=True)) / temperature
    if top_k is not None:
        ids = logits.topk(min(top_k, logits.shape[-1])).indices
        stays = mg.zeros_like(logits, dtype=mg.bool).scatter(-1, ids, True)
        logits = logits.masked_fill(~stays, -math.inf)
    p = logits.softmax(-1)
    if top_p is not None:
        ordered, ids = p.sort(-1, descending=True)
        before = ordered.cumsum(-1) - ordered  # a token stays if those before it do not reach top_p yet
        before[:, 0] = 0.0  # the likeliest always stays
        stays = mg.zeros_like(before, dtype=mg.bool).scatter(-1, ids, before < top_p)
        p = p.masked_fill(~stays, 0.0)
        p = p / p.sum(-1, keepdim=True)
    return p


@mg.no_grad()
def _write(decoder: Decoder, max_length: MaxLength, choose: Choose, eos: int) -> list[Hypothesis]:
    """Add the token that ``choose`` takes from the logits (N, V), until all sentences have ended."""
    start = decoder.start
    given, limits = start.shape[1], max_lengths(max_length, len(start))
    found: dict[int, Hypothesis] = {}
    tokens, going = start, list(range(len(start)))  # the sentence of each row
    total = mg.zeros(len(start), device=start.device)
    for length in count(1):
        if not going:
            break
        logits = decoder.next_logits(tokens)
        norm = _finite(logits.logsumexp(-1), length)
        chosen = choose(logits)[:, None]
        total = total + logits.gather(-1, chosen)[:, 0] - norm
        tokens = mg.cat((tokens, chosen), 1)
        ended = [t == eos or length == limits[i] for t, i in zip(chosen[:, 0].tolist(), going, strict=True)]
        if any(ended):
            for i, ids, log_p, over in zip(going, tokens.tolist(), total.tolist(), ended, strict=True):
                if over:
                    found[i] = Hypothesis(ids[given:], log_p, log_p)
            rows = mg.tensor([n for n, over in enumerate(ended) if not over], device=start.device).long()
            going = [i for i, over in zip(going, ended, strict=True) if not over]
            tokens, total = tokens[rows], total[rows]
            decoder.reorder(rows, 1)
    return [found[i] for i in range(len(start))]


# Several beginnings side by side --------------------------------------------------------------------------


@mg.no_grad()
def beam_search(
    decoder: Decoder,
    beam_size: int = 5,
    max_length: MaxLength = 100,
    length_penalty: float | LengthPenalty = 0.6,
    coverage_penalty: float = 0.0,
    early_stopping: bool = True,
    eos: int = EOS,
) -> list[list[Hypothesis]]:
    """The W likeliest beginnings of each sentence are followed, and those that end are ranked by

        log P(Y | X) / lp(Y) + coverage_penalty · Σᵢ log min(Σⱼ aᵢⱼ, 1),    lp(Y) = ((5 + |Y|) / 6)^α

    (Wu et al. 2016, arXiv 1609.08144, equation 14), aᵢⱼ being what target token j took from source token i;
    |Y| and |X| count the end symbols. At each step the beginnings of a sentence and all tokens after them
    are ordered by log P. What ends among the first W is finished, the W best of the others are followed.

    Args:
        max_length, eos: as for ``greedy``.
        beam_size: W; with early_stopping, 1 writes what ``greedy`` writes.
        length_penalty: α; 0 ranks by log P, which favours short sentences. Or a function lp of the length:
            ``power(alpha)`` is fairseq's |Y|^α.
        coverage_penalty: β; above 0 sentences that pass source tokens over are ranked lower. The decoder must
            be an ``AttentiveDecoder`` then.
        early_stopping: a sentence is done once W hypotheses have been finished, as in fairseq; a longer one
            that would have been ranked higher may be missed. False: it is done only when no beginning can
            reach the W-th of those finished. log P only falls, so nothing that begins with Y scores
            more than log P(Y) divided by the largest lp of the lengths up to the limit.

    Returns:
        For each sentence at most ``beam_size`` hypotheses, the best first. Where nothing ended before the
        limit, these are the beginnings that were followed.

    Raises:
        ValueError: beam_size or max_length below 1; a penalty that is no number; logits that are NaN.
    """
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1, not {beam_size}")
    if math.isnan(coverage_penalty) or coverage_penalty < 0:
        raise ValueError(f"coverage_penalty must be 0 or more, not {coverage_penalty}")
    divisor = length_penalty if callable(length_penalty) else wu(length_penalty)
    ranking = _Ranking(max_lengths(max_length, len(decoder.start)), beam_size, divisor, early_stopping)
    beam = _Beam(decoder, coverage_penalty)
    for length in count(1):
        if not beam.going:
            break
        beam.step(beam_size, length, eos, ranking)
    return [hypotheses[:beam_size] for hypotheses in ranking.found]


def wu(alpha: float) -> LengthPenalty:
    """((5 + |Y|) / 6)^α as a function of |Y| (Wu et al. 2016, equation 14).

    Raises:
        ValueError: α is not finite.
    """
    if not math.isfinite(alpha):
        raise ValueError(f"length_penalty must be a finite number, not {alpha}")
    return lambda length: ((5 + length) / 6) ** alpha


def power(alpha: float) -> LengthPenalty:
    """|Y|^α as a function of |Y|: fairseq's ``--lenpen``. At equal α it favours long sentences more than
    ``wu``: from 10 tokens to 20 it grows by 2^α, Wu's by (25/15)^α.

    Raises:
        ValueError: α is not finite.
    """
    if not math.isfinite(alpha):
        raise ValueError(f"length_penalty must be a finite number, not {alpha}")
    return lambda length: float(length) ** alpha


class _Ranking:
    """What has been finished for each sentence, and when that is enough.

    Attributes:
        found: for each sentence the finished hypotheses, the best first.
    """

    def __init__(self, limits: list[int], size: int, divisor: LengthPenalty, early_stopping: bool) -> None:
        self.limits, self.size, self.divisor, self.early_stopping = limits, size, divisor, early_stopping
        self.found: list[list[Hypothesis]] = [[] for _ in limits]

    def add(self, sentence: int, length: int, tokens: list[int], log_p: float, coverage: float) -> None:
        """Note a hypothesis of so many tokens; ``coverage`` is the second term of the formula."""
        found = self.found[sentence]
        found.append(Hypothesis(tokens, log_p / self.divisor(length) + coverage, log_p))
        found.sort(key=lambda h: -h.score)

    def is_over(self, sentence: int, length: int, best: float) -> bool:
        """Whether nothing more is wanted; ``best`` is the largest log P of those that are followed."""
        found, limit = self.found[sentence], self.limits[sentence]
        if length >= limit:
            return True
        if len(found) < self.size:
            return False
        bound = best / max(map(self.divisor, range(length + 1, limit + 1)))
        return self.early_stopping or found[self.size - 1].score >= bound


class _Beam:
    """The beginnings that are followed.

    Attributes:
        going: the numbers of the sentences that go on, b of them.
        tokens: (N, T), the W rows of a sentence together, the likeliest first; W is 1 at first.
        log_p: of each row (b, W).
        covered: what each row has taken from each source token (N, S); None where nobody asks.
    """

    def __init__(self, decoder: Decoder, coverage_penalty: float) -> None:
        start = decoder.start
        self.decoder, self.given, self.coverage_penalty = decoder, start.shape[1], coverage_penalty
        self.going, self.tokens = list(range(len(start))), start
        self.log_p = mg.zeros(len(start), 1, device=start.device)
        self.covered: Tensor | None = None

    def step(self, size: int, length: int, eos: int, ranking: _Ranking) -> None:
        """Add a token to the beginnings, and give those that end to ``ranking``."""
        log_p, rows, tokens = self.candidates(size, length)
        self.look()
        ended = tokens == eos
        self.finish(ended[:, :size] & (log_p[:, :size] > -math.inf), log_p, rows, length, eos, ranking)
        # a row can end once, so that of all candidates at least so many do not:
        size = min(size, log_p.shape[1] - self.log_p.shape[1])
        self.log_p, place = log_p.masked_fill(ended, -math.inf).topk(size)
        rows, tokens = rows.gather(1, place), tokens.gather(1, place)
        over = [ranking.is_over(i, length, best) for i, best in zip(self.going, self.log_p[:, 0].tolist(), strict=True)]
        self.cut(over, rows, tokens, length, ranking)
        if any(over):
            stay = mg.tensor([n for n, o in enumerate(over) if not o], device=rows.device).long()
            self.going = [i for i, o in zip(self.going, over, strict=True) if not o]
            self.log_p, rows, tokens = self.log_p[stay], rows[stay], tokens[stay]
        rows = rows.flatten()
        self.tokens = mg.cat((self.tokens[rows], tokens.view(-1, 1)), 1)
        self.covered = None if self.covered is None else self.covered[rows]
        if self.going:
            self.decoder.reorder(rows, size)

    def candidates(self, size: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """The 2W best continuations of each sentence (b, 2W), the best first: log P, row, token.

        Even if W of them end here, W remain to be followed; none is below the 2W best of its row.
        """
        logits = self.decoder.next_logits(self.tokens)
        norm = _finite(logits.logsumexp(-1, keepdim=True), length)
        best, ids = logits.topk(min(2 * size, logits.shape[1]))
        each = best.shape[1]
        log_p = (best - norm + self.log_p.view(-1, 1)).view(len(self.going), -1)
        log_p, place = log_p.topk(min(2 * size, log_p.shape[1]))
        first = mg.arange(len(self.going), device=place.device)[:, None] * self.log_p.shape[1]
        return log_p, first + place // each, ids.view(len(self.going), -1).gather(1, place)

    def look(self) -> None:
        """Add what the last tokens have taken from the source."""
        if self.coverage_penalty:
            seen = cast(AttentiveDecoder, self.decoder).attention()
            self.covered = seen if self.covered is None else self.covered + seen

    def coverage(self) -> list[float]:
        """The coverage penalty of each row."""
        if self.covered is None:
            return [0.0] * len(self.tokens)
        least = mg.finfo(self.covered.dtype).tiny  # a token that nothing was taken from is not worth -inf
        missing = self.covered.clamp(least, 1.0).log()
        missing = missing.masked_fill(~cast(AttentiveDecoder, self.decoder).source_mask(), 0.0)
        return [self.coverage_penalty * x for x in missing.sum(1).tolist()]

    def finish(self, done: Tensor, log_p: Tensor, rows: Tensor, length: int, eos: int, ranking: _Ranking) -> None:
        """Rank the candidates that have ended; ``done`` says which (b, W or less)."""
        if not bool(done.any()):
            return
        where = done.nonzero()
        sentence, place = where[:, 0], where[:, 1]
        parents = rows[sentence, place]
        coverage = self.coverage()
        for i, row, ids, p in zip(
            sentence.tolist(),
            parents.tolist(),
            self.tokens[parents].tolist(),
            log_p[sentence, place].tolist(),
            strict=True,
        ):
            ranking.add(self.going[i], length, [*ids[self.given :], eos], p, coverage[row])

    def cut(self, over: list[bool], rows: Tensor, tokens: Tensor, length: int, ranking: _Ranking) -> None:
        """Where the limit came before any end, what was followed is ranked, as it is."""
        for n, i in enumerate(self.going):
            if over[n] and not ranking.found[i]:
                coverage = self.coverage()
                for row, token, p in zip(rows[n].tolist(), tokens[n].tolist(), self.log_p[n].tolist(), strict=True):
                    ids = [*self.tokens[row].tolist()[self.given :], token]
                    ranking.add(i, length, ids, p, coverage[row])


# Parts ----------------------------------------------------------------------------------------------------


def max_lengths(max_length: MaxLength, batch: int) -> list[int]:
    """A limit for each of so many sentences.

    Raises:
        ValueError: one is below 1; there is not one for each.
    """
    limits = [max_length] * batch if isinstance(max_length, int) else list(max_length)
    if len(limits) != batch:
        raise ValueError(f"{len(limits)} limits for {batch} sentences")
    if min([max_length] if isinstance(max_length, int) else limits, default=1) < 1:
        raise ValueError(f"max_length must be at least 1 token, not {max_length}")
    return limits


def _finite(norm: Tensor, length: int) -> Tensor:
    """ln Σ eˣ of logits, which is NaN where one of them is.

    Raises:
        ValueError: it is not finite.
    """
    if not bool(norm.isfinite().all()):
        raise ValueError(f"token {length}: the decoder's logits are NaN or infinite: has training diverged?")
    return norm
