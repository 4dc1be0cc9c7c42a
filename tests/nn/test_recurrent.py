"""RNN, LSTM, GRU and their cells with PyTorch's arguments, PyTorch's numbers and PyTorch's messages."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.parity import assert_close, host, listed, ours, theirs, torch
from tests.support.twins import compare_gradients, pair, twinned

rng = np.random.default_rng(7)
T, B, I, H = 5, 3, 4, 6
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu"}),
    ("GRU", {}),
    ("LSTM", {}),
    ("LSTM", {"proj_size": 2}),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"num_layers": 2, "batch_first": True},
    {"bidirectional": True},
    {"num_layers": 3, "bidirectional": True, "bias": False, "batch_first": True},
]
CELLS: list[tuple[str, dict[str, Any]]] = [
    ("RNNCell", {}),
    ("RNNCell", {"nonlinearity": "relu", "bias": False}),
    ("GRUCell", {}),
    ("GRUCell", {"bias": False}),
    ("LSTMCell", {}),
    ("LSTMCell", {"bias": False}),
]
kinds = pytest.mark.parametrize(("kind", "own"), KINDS, ids=str)
cells = pytest.mark.parametrize(("kind", "own"), CELLS, ids=str)


def made(kind: str, device: str = "cpu", **options: Any) -> tuple[Any, Any]:
    return twinned(getattr(nn, kind)(I, H, **options), getattr(torch.nn, kind)(I, H, **options), device)


def states(mine: Any, device: str, batch: int | None = B) -> tuple[Any, Any]:
    """Random states to begin with: a tensor, or a pair, of each library."""
    layers = mine.num_layers * (1 + mine.bidirectional)
    lead = (layers,) if batch is None else (layers, batch)
    widths = [mine.proj_size or H] + ([H] if mine.mode == "LSTM" else [])
    found = [pair(rng.standard_normal((*lead, w)), device, True) for w in widths]
    if len(found) == 1:
        return found[0]
    return tuple(a for a, _ in found), tuple(b for _, b in found)


def flat(results: Any) -> list[Any]:
    """(out, state) or (out, (h, c)) as a list of tensors."""
    return [t for r in listed(results) for t in listed(r)]


def compare(mine: Any, other: Any, results: Any, expected: Any, leaves: list[tuple[Any, Any]], device: str) -> None:
    """All results, and the gradients of leaves and parameters along random directions at every result."""
    total = ttotal = 0
    for found, wanted in zip(flat(results), flat(expected), strict=True):
        assert_close(found, wanted)
        g, tg = pair(rng.standard_normal(host(found).shape), device)
        total, ttotal = total + (found * g).sum(), ttotal + (wanted * tg).sum()
    total.backward()
    ttotal.backward()
    for leaf, wanted in leaves:
        assert_close(leaf.grad, wanted.grad)
    compare_gradients(mine, other)


@kinds
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_layers(kind: str, own: dict[str, Any], options: dict[str, Any], device: str) -> None:
    mine, other = made(kind, device, **own, **options)
    shape = (B, T, I) if options.get("batch_first") else (T, B, I)
    x, tx = pair(rng.standard_normal(shape), device, True)
    hx, thx = states(mine, device)
    leaves = [(x, tx), *zip(listed(hx), listed(thx), strict=True)]
    compare(mine, other, mine(x, hx), other(tx, thx), leaves, device)


@kinds
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_one_sequence_without_a_batch(
    kind: str, own: dict[str, Any], given: bool, batch_first: bool, device: str
) -> None:
    mine, other = made(kind, device, **own, bidirectional=True, batch_first=batch_first)
    x, tx = pair(rng.standard_normal((T, I)), device, True)
    hx, thx = states(mine, device, None) if given else (None, None)
    leaves = [(x, tx), *(zip(listed(hx), listed(thx), strict=True) if given else ())]
    compare(mine, other, mine(x, hx), other(tx, thx), leaves, device)


@kinds
def test_begins_with_zeros(kind: str, own: dict[str, Any], device: str) -> None:
    mine, other = made(kind, device, **own, num_layers=2)
    x, tx = pair(rng.standard_normal((T, B, I)), device, True)
    compare(mine, other, mine(x), other(tx), [(x, tx)], device)


@kinds
def test_second_order(kind: str, own: dict[str, Any], device: str) -> None:
    mine, other = made(kind, device, **own, bidirectional=True)
    x, tx = pair(rng.standard_normal((3, 2, I)), device, True)
    first = minigrad.autograd.grad(mine(x)[0].square().sum(), [x, *mine.parameters()], create_graph=True)
    expected = torch.autograd.grad(other(tx)[0].square().sum(), [tx, *other.parameters()], create_graph=True)
    sum(f.square().sum() for f in first).backward()
    sum(f.square().sum() for f in expected).backward()
    assert_close(x.grad, tx.grad)
    compare_gradients(mine, other, 1e-9)


@kinds
@pytest.mark.parametrize("shape", [(1, 1), (T, 0), (1, B)], ids=str)
def test_short_and_empty_batches(kind: str, own: dict[str, Any], shape: tuple[int, int], device: str) -> None:
    mine, other = made(kind, device, **own, num_layers=2)
    x, tx = pair(rng.standard_normal((*shape, I)), device, True)
    for found, wanted in zip(flat(mine(x)), flat(other(tx)), strict=True):
        assert_close(found, wanted)


@kinds
def test_keeps_float32_and_layouts(kind: str, own: dict[str, Any], device: str) -> None:
    mine, other = made(kind, device, **own)
    x = rng.standard_normal((B, I, T))
    expected = flat(other(theirs(x).permute(2, 0, 1)))
    for found, wanted in zip(flat(mine(ours(x, device=device).permute(2, 0, 1))), expected, strict=True):
        assert_close(found, wanted)
    mine.float()
    for found, wanted in zip(flat(mine(ours(x, device=device).float().permute(2, 0, 1))), expected, strict=True):
        assert found.dtype == minigrad.float32
        assert_close(found, wanted, 1e-5)


@kinds
@pytest.mark.parametrize("options", [o for o in OPTIONS if "batch_first" not in o] + [{"num_layers": 2}], ids=str)
def test_one_seed_gives_pytorchs_weights_and_names(kind: str, own: dict[str, Any], options: dict[str, Any]) -> None:
    minigrad.manual_seed(11)
    torch.manual_seed(11)
    mine, other = getattr(nn, kind)(I, H, **own, **options), getattr(torch.nn, kind)(I, H, **own, **options)
    expected = other.state_dict()
    assert list(mine.state_dict()) == list(expected)
    for name, value in mine.state_dict().items():
        np.testing.assert_array_equal(host(value), host(expected[name]), err_msg=name)
    assert mine._all_weights == other._all_weights
    assert [len(w) for w in mine.all_weights] == [len(w) for w in other.all_weights]
    assert mine._flat_weights_names == other._flat_weights_names
    assert all(a is getattr(mine, n) for a, n in zip(mine._flat_weights, mine._flat_weights_names, strict=True))


@kinds
def test_dropout_between_layers_is_pytorchs(kind: str, own: dict[str, Any]) -> None:
    mine, other = made(kind, "cpu", **own, num_layers=3, dropout=0.4, bidirectional=True)
    x, tx = pair(rng.standard_normal((T, B, I)), "cpu", True)
    before = minigrad.get_dropout_stream()
    minigrad.set_dropout_stream("pytorch")
    try:
        minigrad.manual_seed(2)
        torch.manual_seed(2)
        compare(mine, other, mine(x), other(tx), [(x, tx)], "cpu")
    finally:
        minigrad.set_dropout_stream(before)
    compare_gradients(mine, other)
    assert_close(mine.eval()(x)[0], other.eval()(tx)[0])


def test_representations() -> None:
    options = [{}, {"num_layers": 2, "dropout": 0.5}, {"bias": False, "batch_first": True}, {"bidirectional": True}]
    for (kind, own), more in itertools.product(KINDS, options):
        made = [getattr(n, kind)(I, H, **own, **more) for n in (nn, torch.nn)]
        assert repr(made[0]) == repr(made[1])
    for kind, own in CELLS:
        assert repr(getattr(nn, kind)(I, H, **own)) == repr(getattr(torch.nn, kind)(I, H, **own))
    assert repr(nn.RNNBase("LSTM", I, H)) == repr(torch.nn.RNNBase("LSTM", I, H))


@pytest.mark.parametrize("name", ["RNNBase", "RNNCellBase", "RNNCell", "GRUCell", "LSTMCell"])
def test_signatures(name: str) -> None:
    found, expected = (inspect.signature(getattr(n, name)).parameters for n in (nn, torch.nn))
    assert list(found) == list(expected)
    assert [p.default for p in found.values()] == [p.default for p in expected.values()]


def test_positional_arguments() -> None:
    """PyTorch takes ``*args`` there, so there is no signature to compare."""
    for kind, args in (
        ("RNN", (I, H, 2, "relu", False, True, 0.1, True)),
        ("GRU", (I, H, 2, False, True, 0.1, True)),
        ("LSTM", (I, H, 2, False, True, 0.1, True, 3)),
    ):
        mine, other = getattr(nn, kind)(*args), getattr(torch.nn, kind)(*args)
        assert repr(mine) == repr(other)
        assert list(mine.state_dict()) == list(other.state_dict())


def test_attributes_and_harmless_methods() -> None:
    mine, other = nn.LSTM(I, H, 2, dropout=0.1), torch.nn.LSTM(I, H, 2, dropout=0.1)
    for name in (
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ):
        assert getattr(mine, name) == getattr(other, name)
    mine.flatten_parameters()
    x = minigrad.zeros(T, B, I)
    assert mine.get_expected_hidden_size(x, None) == mine.get_expected_cell_size(x, None) == (2, B, H)
    mine.check_forward_args(x, (minigrad.zeros(2, B, H), minigrad.zeros(2, B, H)), None)
    order = minigrad.tensor([2, 0, 1])
    h = minigrad.arange(2.0 * B * H).reshape(2, B, H)
    for part in mine.permute_hidden((h, h), order):
        assert_close(part, h[:, [2, 0, 1]])
    assert nn.RNN(I, H, nonlinearity="relu").mode == "RNN_RELU"
    assert nn.RNN(I, H).nonlinearity == "tanh"


@kinds
def test_copies_and_pickles(kind: str, own: dict[str, Any]) -> None:
    mine = getattr(nn, kind)(I, H, **own)
    x = minigrad.randn(T, B, I)
    for again in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert_close(again(x)[0], mine(x)[0])
        assert again._flat_weights[0] is again.weight_ih_l0
        assert again.weight_ih_l0 is not mine.weight_ih_l0


def test_a_weight_may_be_replaced_or_made_by_ops() -> None:
    """Weight dropping: the attribute is a computed tensor, and the gradient goes on to what it is made of."""
    mine = nn.LSTM(I, H)
    raw = nn.Parameter(mine.weight_hh_l0.detach().clone())
    del mine.weight_hh_l0
    mine.weight_hh_l0 = raw * 0.5
    mine(minigrad.randn(T, B, I))[0].sum().backward()
    assert raw.grad is not None and float(raw.grad.abs().sum()) > 0


def test_results_may_be_changed_in_place() -> None:
    mine, other = made("LSTM")
    x, tx = pair(rng.standard_normal((T, B, I)), "cpu", True)
    out, _ = mine(x)
    out.mul_(2)
    out.sum().backward()
    (other(tx)[0] * 2).sum().backward()
    assert_close(x.grad, tx.grad)
    compare_gradients(mine, other)


def test_a_weight_changed_before_backward_is_noticed() -> None:
    mine = nn.GRU(I, H)
    out, _ = mine(minigrad.randn(T, B, I))
    with minigrad.no_grad():
        mine.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


# Cells ----------------------------------------------------------------------------------------------------


@cells
@pytest.mark.parametrize("lead", [(B,), (), (0,)], ids=str)
@pytest.mark.parametrize("given", [False, True])
def test_cells(kind: str, own: dict[str, Any], lead: tuple[int, ...], given: bool, device: str) -> None:
    mine, other = made(kind, device, **own)
    x, tx = pair(rng.standard_normal((*lead, I)), device, True)
    leaves = [(x, tx)]
    args, targs = [], []
    if given:
        leaves += [pair(rng.standard_normal((*lead, H)), device, True) for _ in range(1 + (kind == "LSTMCell"))]
        first, second = tuple(a for a, _ in leaves[1:]), tuple(b for _, b in leaves[1:])
        args, targs = ([first if kind == "LSTMCell" else first[0]], [second if kind == "LSTMCell" else second[0]])
    compare(mine, other, mine(x, *args), other(tx, *targs), leaves, device)


@cells
def test_cells_in_a_loop_are_the_layer(kind: str, own: dict[str, Any], device: str) -> None:
    cell, other = made(kind, device, **own)
    layer = getattr(nn, kind.removesuffix("Cell"))(I, H, **own).double().to(device)
    layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    x, tx = pair(rng.standard_normal((T, B, I)), device, True)
    h = th = None
    outs, expected = [], []
    for t in range(T):
        h, th = cell(x[t], h), other(tx[t], th)
        outs.append(listed(h)[0])
        expected.append(listed(th)[0])
    assert_close(minigrad.stack(outs), layer(x)[0])
    compare(cell, other, minigrad.stack(outs), torch.stack(expected), [(x, tx)], device)


@cells
def test_one_seed_gives_pytorchs_cells(kind: str, own: dict[str, Any]) -> None:
    minigrad.manual_seed(4)
    torch.manual_seed(4)
    mine, other = getattr(nn, kind)(I, H, **own), getattr(torch.nn, kind)(I, H, **own)
    expected = other.state_dict()
    assert list(mine.state_dict()) == list(expected)
    for name, value in mine.state_dict().items():
        np.testing.assert_array_equal(host(value), host(expected[name]), err_msg=name)
    assert (mine.bias_ih is None) == (other.bias_ih is None)


# Refusals: as PyTorch, in kind and in words ---------------------------------------------------------------

BAD_OPTIONS = [
    "LSTM(3, 4, dropout=1.5)",
    "LSTM(3, 4, dropout=True)",
    "LSTM(3, 0)",
    "LSTM(0, 4)",
    "LSTM(3, 4.0)",
    "LSTM(3, 4, 0)",
    "LSTM(3, 4, proj_size=4)",
    "LSTM(3, 4, proj_size=-1)",
    "GRU(3, 4, proj_size=2)",
    "RNN(3, 4, proj_size=2)",
    "RNN(3, 4, nonlinearity='sig')",
    "RNNBase('FOO', 3, 4)",
    "LSTM(3)",
    "GRU(3, 4, nonsense=1)",
]
BAD_INPUTS = [
    "LSTM(3, 4)(x(3))",
    "GRU(3, 4)(x(2, 2, 2, 3))",
    "RNN(3, 4)(x(3))",
    "LSTM(3, 4)(x(2, 2, 5))",
    "LSTM(3, 4)(x(2, 2, 3), (x(1, 3, 4), x(1, 2, 4)))",
    "LSTM(3, 4)(x(2, 2, 3), (x(1, 2, 4), x(1, 2, 5)))",
    "LSTM(3, 4)(x(2, 2, 3), (x(2, 4), x(2, 4)))",
    "LSTM(3, 4)(x(2, 3), (x(1, 2, 4), x(1, 2, 4)))",
    "LSTM(3, 4)(x(2, 3), (x(1, 5), x(1, 4)))",
    "LSTM(3, 4, proj_size=2)(x(2, 2, 3), (x(1, 2, 4), x(1, 2, 4)))",
    "GRU(3, 4)(x(2, 2, 3), x(2, 4))",
    "GRU(3, 4)(x(2, 3), x(1, 1, 4))",
    "GRU(3, 4)(x(2, 2, 3), x(1, 3, 4))",
    "GRU(3, 4)(x(0, 2, 3))",
    "RNN(3, 4)(x(2, 2, 3).double())",
    "RNN(3, 4)(x(2, 2, 3), x(1, 2, 4).double())",
    "LSTMCell(3, 4)(x(2, 2, 3))",
    "LSTMCell(3, 4)(x(2, 5))",
    "LSTMCell(3, 4)(x(2, 3), (x(2, 5), x(2, 4)))",
    "LSTMCell(3, 4)(x(2, 3), (x(3, 4), x(3, 4)))",
    "LSTMCell(3, 4)(x(2, 3), (x(2, 4), x(2, 5)))",
    "LSTMCell(3, 4)(x(2, 3), (x(2, 4),))",
    "LSTMCell(3, 4)(x(2, 3), (x(4), x(4)))",
    "LSTMCell(3, 4)(x(2, 3), x(2, 4))",
    "GRUCell(3, 4)(x(2, 3), x(4))",
    "GRUCell(3, 4)(x(2, 3), x(2, 5))",
    "GRUCell(3, 4)(x(2, 3), x(2, 2, 4))",
    "RNNCell(3, 4)(x(2, 5))",
    "RNNCell(3, 4, nonlinearity='foo')(x(2, 3))",
    "RNNCell(3, 4)(x(2, 3), x(2, 4).double())",
    "GRUCell(3, 4)(x(2, 3).double())",
]


def error(program: str, library: Any) -> Exception:
    with pytest.raises(Exception) as raised:
        eval(f"nn.{program}", {"nn": library.nn, "x": lambda *s: library.zeros(*s)})
    return raised.value


@pytest.mark.parametrize("program", BAD_OPTIONS + BAD_INPUTS)
def test_refusals(program: str) -> None:
    found, expected = error(program, minigrad), error(program, torch)
    assert isinstance(found, type(expected)), f"{found!r} for {expected!r}"
    first = str(expected).split(" Convert")[0].split("(position")[0]
    words = [w for w in first.replace(",", "").split() if w.isalpha() and len(w) > 3]
    told = sum(w in str(found) for w in words)
    assert told >= len(words) / 2, f"{found} for {expected}"


def test_an_lstm_wants_a_pair() -> None:
    x = minigrad.zeros(T, B, I)
    for hx in (minigrad.zeros(1, B, H), (minigrad.zeros(1, B, H),)):
        with pytest.raises(RuntimeError, match="two hidden states"):
            nn.LSTM(I, H)(x, hx)
    with pytest.raises(TypeError, match="GRU: hx must be a Tensor, not tuple"):
        nn.GRU(I, H)(x, (minigrad.zeros(1, B, H), minigrad.zeros(1, B, H)))
    h = minigrad.zeros(1, B, H)
    assert_close(nn.LSTM(I, H)(x, [h, h])[0].sum() * 0, np.float32(0))  # a list will do


def test_dropout_in_a_single_layer_warns_as_pytorch_does() -> None:
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1") as found:
        nn.GRU(I, H, dropout=0.5)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.GRU(I, H, 2, dropout=0.5)
