"""The models of workloads.py on JAX, as its own users would write them: functions of a dictionary of arrays, and a
whole step of training, AdamW's too, as one program that is compiled before it runs."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .process import Answer, library_module, peak_mebibytes
from .steps import repeat
from .workloads import SIZES, Work, build

jax, np = library_module("jax"), library_module("jax.numpy")
Array = numpy.ndarray[Any, Any]
Weights = dict[str, Any]
EPS = 1e-5  # of layer norms, as in PyTorch


class Model:
    """A model, its batch, and how it is trained."""

    def __init__(self, work: Work, dtype: Any) -> None:
        jax.config.update("jax_enable_x64", dtype == numpy.float64)
        import minigrad  # it says what the parameters are called, and how they begin

        named = build(minigrad, work, 0.0).named_parameters()
        self.work = work
        self.weights = {name: np.asarray(p.detach().numpy().astype(dtype)) for name, p in named}
        self.data = data(work)
        self.derive = jax.jit(
            jax.value_and_grad(lambda w, source, inputs, targets, keys: loss(work, w, source, inputs, targets, keys))
        )
        self.keys = jax.random.key(0, impl="rbg")  # the fastest of its generators
        zeros = {name: np.zeros_like(w) for name, w in self.weights.items()}
        self.state = self.weights, zeros, jax.tree.map(np.copy, zeros), np.zeros((), dtype)
        self.train = jax.jit(self.trained, donate_argnums=0)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        """The mean cross-entropy of the batch, and its gradient for each array of weights."""
        value, gradients = self.derive(self.weights, *self.data, None)
        return float(value), [numpy.asarray(g) for g in gradients.values()]

    def step(self) -> float:
        """One step of training; the loss before it."""
        self.keys, now = jax.random.split(self.keys)
        self.state, value = self.train(self.state, *self.data, now)
        return float(jax.block_until_ready(value))

    def trained(self, state: Any, source: Any, inputs: Any, targets: Any, key: Any) -> Any:
        """The state after a step of AdamW, and the loss before it."""
        weights, first, second, steps = state
        value, slopes = self.derive(weights, source, inputs, targets, key)
        steps = steps + 1
        first = jax.tree.map(lambda m, g: m + 0.1 * (g - m), first, slopes)
        second = jax.tree.map(lambda v, g: v + 0.001 * (g * g - v), second, slopes)
        rate, scale = 1e-4 / (1 - 0.9**steps), np.sqrt(1 - 0.999**steps)
        shrink = 1 - 1e-4 * self.work.weight_decay
        weights = jax.tree.map(
            lambda p, m, v: p * shrink - rate * m / (np.sqrt(v) / scale + 1e-8), weights, first, second
        )
        return (weights, first, second, steps), value


def check(library: str, work: str) -> Answer:
    """As ``steps.check``."""
    loss, gradients = Model(SIZES[work], numpy.float64).loss_and_gradients()
    return {"loss": loss, "norm": float(numpy.sqrt(sum(numpy.sum(g * g) for g in gradients)))}


def train(library: str, work: str, seconds: float) -> Answer:
    """As ``steps.train``."""
    model = Model(SIZES[work], numpy.float32)
    return {"loss": model.step(), "times": repeat(model.step, seconds), "memory": peak_mebibytes()}


def data(work: Work) -> tuple[Array, Array, Array]:
    """Sources, targets (B, T), and those that follow them (B·T,): the numbers of ``workloads.loss_function``."""
    draw = numpy.random.default_rng(1)
    source = draw.integers(0, work.vocabulary, (work.batch, work.length))
    target = draw.integers(0, work.vocabulary, (work.batch, work.length + 1))
    return source, target[:, :-1], target[:, 1:].reshape(-1)


class Drop:
    """Dropout with a mask of its own at each call; none without a key."""

    def __init__(self, key: Any, share: float) -> None:
        self.key, self.share = key, share

    def __call__(self, x: Any) -> Any:
        if self.key is None or not self.share:
            return x
        self.key, now = jax.random.split(self.key)
        return np.where(jax.random.bernoulli(now, 1 - self.share, x.shape), x / (1 - self.share), 0)


def loss(work: Work, w: Weights, source: Any, inputs: Any, targets: Any, key: Any) -> Any:
    """The mean cross-entropy, smoothed."""
    drop = Drop(key, work.dropout)
    logits = language_model(work, w, inputs, drop) if work.decoder_only else translator(work, w, source, inputs, drop)
    log_p = jax.nn.log_softmax(logits.reshape(-1, work.vocabulary))
    picked = np.take_along_axis(log_p, targets[:, None], 1)
    return -np.mean((1 - work.smoothing) * picked[:, 0] + work.smoothing * np.mean(log_p, axis=1))


def language_model(work: Work, w: Weights, tokens: Any, drop: Drop) -> Any:
    """(B, T) -> (B, T, V)"""
    x = drop(w["tokens.weight"][tokens] + w["places.weight"])
    for i in range(work.layers):
        block = f"blocks.{i}."
        q, k, v = np.split(linear(w, block + "attention.qkv", norm(w, block + "norm1", x)), 3, -1)
        x = x + drop(linear(w, block + "attention.out", attention(work, q, k, v, True, drop)))
        up = linear(w, block + "up", norm(w, block + "norm2", x))
        x = x + drop(linear(w, block + "down", jax.nn.gelu(up, approximate=work.gelu == "tanh")))
    return norm(w, "norm", x) @ w["head.weight"].T


def translator(work: Work, w: Weights, source: Any, target: Any, drop: Drop) -> Any:
    """(B, S), (B, T) -> (B, T, V)"""
    memory, x = w["embedding.weight"][source], w["embedding.weight"][target]
    for i in range(work.layers):
        memory = layer(work, w, f"transformer.encoder.layers.{i}.", memory, None, drop)
    memory = norm(w, "transformer.encoder.norm", memory)
    for i in range(work.layers):
        x = layer(work, w, f"transformer.decoder.layers.{i}.", x, memory, drop)
    return norm(w, "transformer.decoder.norm", x) @ w["embedding.weight"].T


def layer(work: Work, w: Weights, name: str, x: Any, memory: Any, drop: Drop) -> Any:
    """One of the encoder; with a memory, of the decoder."""
    own = name + "self_attn."
    q, k, v = np.split(x @ w[own + "in_proj_weight"].T + w[own + "in_proj_bias"], 3, -1)
    attended = attention(work, q, k, v, memory is not None, drop)
    x = norm(w, name + "norm1", x + drop(linear(w, own + "out_proj", attended)))
    if memory is not None:
        cross = name + "multihead_attn."
        weight, bias = w[cross + "in_proj_weight"], w[cross + "in_proj_bias"]
        q = x @ weight[: work.width].T + bias[: work.width]
        k, v = np.split(memory @ weight[work.width :].T + bias[work.width :], 2, -1)
        attended = attention(work, q, k, v, False, drop)
        x = norm(w, name + "norm2", x + drop(linear(w, cross + "out_proj", attended)))
    y = linear(w, name + "linear2", drop(jax.nn.relu(linear(w, name + "linear1", x))))
    return norm(w, name + ("norm2" if memory is None else "norm3"), x + drop(y))


def attention(work: Work, q: Any, k: Any, v: Any, causal: bool, drop: Drop) -> Any:
    """Each (B, T, D) -> (B, T, D)"""
    q, k, v = (x.reshape(*x.shape[:2], work.heads, -1) for x in (q, k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    y = np.einsum("bhqk,bkhd->bqhd", drop(jax.nn.softmax(scores)), v)
    return y.reshape(*y.shape[:2], work.width)


def linear(w: Weights, name: str, x: Any) -> Any:
    """(..., K) -> (..., M)"""
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def norm(w: Weights, name: str, x: Any) -> Any:
    """Layer norm."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + EPS) * w[name + ".weight"] + w[name + ".bias"]
