"""Measures gradients as a function of distance for the lesson."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

import minigrad as mg
from minigrad.utils.bar import watched
from minigrad.viz.numbers import Floats

from .distance import chain_of_products, jacobian_norms
from .networks import REST, WIDTH, Network, gru, lstm, rnn, transformer

DISTANCE = 200
FACTORS = (0.9, 1.0, 1.1)  # of the chain of products; radii of the RNN
SIZES = (REST, 0.01, 0.1, 1.0)  # of the exploding RNN's inputs
BIASES = (0.0, 1.0, 2.0)  # of the gates that keep the state


@dataclass(frozen=True)
class Measured:
    """The norms of a network at distances 0, 1, …, 200, for one input size (standard deviation)."""

    network: Network
    size: float
    norms: Floats

    @property
    def slope(self) -> float:
        """The least-squares slope of ln ‖·‖ over distances from 1 up: the log of the factor per step."""
        return float(np.polyfit(np.arange(1, len(self.norms)), np.log(self.norms[1:]), 1)[0])

    @property
    def orders(self) -> float:
        """Powers of ten between the largest and smallest norm, at distances of at least 1."""
        return float(np.log10(self.norms[1:].max() / self.norms[1:].min()))

    def theory(self, distances: Iterable[int]) -> list[float]:
        """The norms at distances of at least 1, extrapolated from the first with the theoretical rate."""
        return [float(self.norms[1] * self.network.rate ** (k - 1)) for k in distances]


@dataclass(frozen=True)
class Measurements:
    """All measurements."""

    chains: list[Floats]  # by FACTORS
    radii: list[Measured]  # by FACTORS, at rest
    sizes: list[Measured]  # of the radius 1.1, by SIZES
    gates: list[tuple[Measured, Measured]]  # LSTM by BIASES, GRU by BIASES: at rest, and with inputs of size 1
    transformer: Measured  # with inputs of size 1

    @property
    def lstm(self) -> Measured:
        """The LSTM with forget bias 1, at rest."""
        return self.gates[BIASES.index(1.0)][0]

    @property
    def gru(self) -> Measured:
        """The GRU with update bias 1, at rest."""
        return self.gates[len(BIASES) + BIASES.index(1.0)][0]


def measure(seed: int) -> Measurements:
    """Measure everything, with a progress bar on stderr after two seconds."""
    radii = [partial(rnn, radius) for radius in FACTORS]
    gated = [partial(cell, bias) for cell in (lstm, gru) for bias in BIASES]
    attention = partial(transformer, DISTANCE + 1)
    jobs: list[tuple[Callable[[], Network], float]] = [(make, REST) for make in (*radii, *gated)]
    jobs += [(make, 1.0) for make in (*gated, attention)] + [(radii[-1], size) for size in SIZES[1:]]
    results = {job: _measured(*job, seed) for job in watched(jobs, "measuring gradients")}
    return Measurements(
        [chain_of_products(factor, DISTANCE) for factor in FACTORS],
        [results[make, REST] for make in radii],
        [results[radii[-1], size] for size in SIZES],
        [(results[make, REST], results[make, 1.0]) for make in gated],
        results[attention, 1.0],
    )


def _measured(make: Callable[[], Network], size: float, seed: int) -> Measured:
    """The norms of a network. Equal seeds yield equal weights and inputs, except for the size of the inputs."""
    mg.manual_seed(seed)
    network = make()
    x = size * mg.randn(DISTANCE + 1, WIDTH, dtype=mg.float64)
    return Measured(network, size, jacobian_norms(network.model, x))
