"""Transformer and its blocks from PyTorch's own state dict: results, all gradients, and 20 steps of Adam."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.autograd.walk import nodes_behind
from minigrad.nn.transformer import _detect_is_causal_mask, _get_clones
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.parity import assert_close, host, torch
from tests.support.twins import check_twins, pair, twinned

pytestmark = [pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Support for mismatched")]
B, T, S, D, H = 3, 5, 6, 8, 2
OPTIONS: list[dict[str, Any]] = [
    {},
    {"norm_first": True},
    {"batch_first": True},
    {"activation": "gelu", "norm_first": True, "batch_first": True},
    {"bias": False, "layer_norm_eps": 1e-2},
]
PADDING = np.arange(S)[None] >= np.array([[6], [4], [2]])
TARGET_PADDING = np.arange(T)[None] >= np.array([[5], [3], [2]])


def array(length: int, batch_first: bool = False, batch: bool = True) -> Any:
    shape = (B, length, D) if batch_first else (length, B, D)
    return rng.standard_normal(shape if batch else (length, D))


def causal(size: int) -> Any:
    return np.triu(np.ones((size, size), bool), 1)


def check(kind: str, sizes: tuple[int, ...], options: dict[str, Any], inputs: Any, masks: Any, device: str) -> None:
    """Compare a module in both libraries; the masks are passed by name, and get no gradient."""

    def call(t: Any, module: Any, *tensors: Any) -> Any:
        keywords = {name: mask.detach() for name, mask in zip(masks, tensors[len(inputs) :], strict=True)}
        return module(*tensors[: len(inputs)], **keywords)

    make = lambda n: getattr(n, kind)(D, H, *sizes, dropout=0.0, **options)
    check_twins(make, *inputs, *masks.values(), device=device, call=call)


@cases("options", OPTIONS)
@cases("masked", [False, True])
def test_layers(options: dict[str, Any], masked: bool, device: str) -> None:
    source, target = (array(n, options.get("batch_first", False)) for n in (S, T))
    masks = {"src_mask": causal(S), "src_key_padding_mask": PADDING} if masked else {}
    check("TransformerEncoderLayer", (16,), options, [source], masks, device)
    if masked:
        masks = {"tgt_mask": causal(T), "tgt_key_padding_mask": TARGET_PADDING, "memory_key_padding_mask": PADDING}
        masks["memory_mask"] = rng.standard_normal((T, S))
    check("TransformerDecoderLayer", (16,), options, [target, source], masks, device)


@cases("options", OPTIONS)
@cases("batch", [True, False])
def test_transformer(options: dict[str, Any], batch: bool, device: str) -> None:
    inputs = [array(n, options.get("batch_first", False), batch) for n in (S, T)]
    rows = slice(None) if batch else 1
    masks = {f"{name}_key_padding_mask": PADDING[rows] for name in ("src", "memory")}
    masks["tgt_key_padding_mask"] = TARGET_PADDING[rows]
    masks["tgt_mask"] = np.where(causal(T), -np.inf, 0.0)
    check("Transformer", (2, 3, 16), options, inputs, masks, device)


def test_clones_are_independent() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 16), 3)
    weights = [layer.linear1.weight for layer in encoder.layers]
    assert len({id(w) for w in weights}) == 3 and weights[0].tolist() == weights[1].tolist()


def test_custom_parts_and_activation() -> None:
    class Same(nn.Module):
        def forward(self, src: Any, *args: Any, **kwargs: Any) -> Any:
            return src

    net = nn.Transformer(D, H, custom_encoder=Same(), custom_decoder=Same())
    x = minigrad.ones(T, B, D)
    assert net(minigrad.ones(S, B, D), x) is x
    layer = nn.TransformerEncoderLayer(D, H, 16, activation=minigrad.tanh)
    assert layer.activation is minigrad.tanh
    words = "activation should be relu/gelu, not swish"
    raises(RuntimeError, words, lambda: nn.TransformerEncoderLayer(D, H, activation="swish"))


def test_causal_masks() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    assert mask.tolist() == torch.nn.Transformer.generate_square_subsequent_mask(4).tolist()
    assert mask.dtype is minigrad.float32
    assert _detect_is_causal_mask(mask) and _detect_is_causal_mask(mask == float("-inf"))
    assert not any(map(_detect_is_causal_mask, (mask.T, None, minigrad.zeros(3, 4))))


def test_errors() -> None:
    net, one = nn.Transformer(D, H, 1, 1, 16), minigrad.ones
    raises(RuntimeError, "batch number of src and tgt must be equal", lambda: net(one(S, 2, D), one(T, 3, D)))
    raises(RuntimeError, "must be equal to d_model = 8", lambda: net(one(S, 2, 4), one(T, 2, 4)))


ENCODERS: list[dict[str, Any]] = [
    {},
    {"activation": "gelu"},
    {"activation": "tanh"},
    {"norm_first": True},
    {"bias": False},
    {"batch_first": False},
    {"nhead": 1},
]
PADDINGS = {
    "right": PADDING,
    "numbers": np.where(PADDING, -np.inf, 0.0),
    "left": PADDING[:, ::-1].copy(),
    "all": np.concatenate([np.ones((1, S), bool), PADDING[1:]]),
}


@cases("options, padding, norm", pairwise(ENCODERS, list(PADDINGS), (False, True)))
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested", "ignore:.*prototype")
def test_padded_places_in_evaluation(options: dict[str, Any], padding: str, norm: bool) -> None:
    """PyTorch skips them and returns zeros, under certain conditions; minigrad has the same conditions."""
    how = {"nhead": H, "dim_feedforward": 16, "batch_first": True, **options}

    def encoder(t: Any) -> Any:
        activation = t.tanh if how.get("activation") == "tanh" else how.get("activation", "relu")
        layer = t.nn.TransformerEncoderLayer(D, **{**how, "activation": activation})
        return t.nn.TransformerEncoder(layer, 2, t.nn.LayerNorm(D) if norm else None).eval()

    mine, other = twinned(encoder(minigrad), encoder(torch), "cpu")
    x, tx = pair(array(S, how["batch_first"]), "cpu")
    mask, tmask = pair(PADDINGS[padding], "cpu")
    calls = slice(1, None) if padding == "all" else slice(None)  # PyTorch's other rows are NaN, ours are not
    for recorded in (False, True):
        with minigrad.set_grad_enabled(recorded), torch.set_grad_enabled(recorded):
            out, expected = mine(x, src_key_padding_mask=mask), other(tx, src_key_padding_mask=tmask)
        rows = (calls,) if how["batch_first"] else (slice(None), calls)
        assert_close(host(out)[rows], host(expected)[rows])


def test_blocks_that_a_subclass_replaces() -> None:
    class Quiet(nn.TransformerEncoderLayer):
        def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
            return x * 0

        def _ff_block(self, x: Any) -> Any:
            return x

    x = minigrad.randn(2, 3, 8)
    layer = Quiet(8, 2, norm_first=True)
    np.testing.assert_allclose(host(layer(x)), host(x + layer.norm2(x)))
    copies = _get_clones(layer, 2)
    assert isinstance(copies, nn.ModuleList) and copies[0] is not copies[1]
    assert host(copies[0].linear1.weight).tolist() == host(layer.linear1.weight).tolist()


@cases("dtype", ["float32", "float64", "float16"])
def test_relu_and_its_dropout_are_one_op_where_nobody_looks_between_them(dtype: str, device: str) -> None:
    """The result is bitwise that of two separate ops, which run if there is a hook."""
    layer = nn.TransformerEncoderLayer(D, H, 16, 0.4, device=device, dtype=getattr(minigrad, dtype))
    x = minigrad.randn(S, B, D, device=device).to(getattr(minigrad, dtype))
    actual, calls = [], []
    for hooked in (False, True):
        if hooked:
            layer.dropout.register_forward_hook(lambda module, inputs, output: calls.append(tuple(output.shape)))
        minigrad.manual_seed(3)
        layer.zero_grad()
        out = layer(x)
        names = {node.op.name for node in nodes_behind((out,))}
        assert ("relu_dropout" in names) is not hooked and ("relu" in names) is hooked
        out.sum().backward()
        actual.append([host(out).tobytes(), *(host(p.grad).tobytes() for p in layer.parameters())])
    assert actual[0] == actual[1] and calls == [(S, B, 16)]
    layer.dropout.p = 0.0
    for quiet in (layer, layer.eval()):
        assert "relu_dropout" not in {node.op.name for node in nodes_behind((quiet(x),))}
