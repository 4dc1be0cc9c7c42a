"""RNN, LSTM, GRU and their cells with PyTorch's arguments, numbers and messages."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.cases import cases, pairwise, programs, raises, rng
from tests.support.layer_checks import check_first_numbers, dropout_of_pytorch as dropout_of_pytorch
from tests.support.parity import assert_close, assert_same_signature, ours, theirs, torch
from tests.support.twins import check_twins, compare_gradients, twinned

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
CELLS: list[tuple[str, dict[str, Any]]] = [("RNNCell", {"nonlinearity": "relu", "bias": False}), ("RNNCell", {})]
CELLS += [(kind, {"bias": bias}) for kind in ("GRUCell", "LSTMCell") for bias in (True, False)]
kinds = cases("kind, own", KINDS)
cells = cases("kind, own", CELLS)


def states(kind: str, layers: int, batch: int | None = B, **own: Any) -> list[Any]:
    """Random initial states: one array, or two."""
    lead = (layers,) if batch is None else (layers, batch)
    widths = [own.get("proj_size", H), H][: 1 + (kind == "LSTM")]
    return [rng.standard_normal((*lead, w)) for w in widths]


def check(kind: str, options: dict[str, Any], device: str, *arrays: Any) -> tuple[Any, Any]:
    """Compare a layer or cell in both libraries, on an input and optional states."""

    def call(t: Any, module: Any, x: Any, *hx: Any) -> Any:
        return module(x, *([hx] if len(hx) == 2 else hx))

    make = lambda n: getattr(n, kind)(I, H, **options)
    return check_twins(make, *arrays, device=device, call=call)


@cases("kind, options", [(k, {**own, **o}) for (k, own), o in pairwise(KINDS, OPTIONS)])
def test_layers(kind: str, options: dict[str, Any], device: str) -> None:
    shape = (B, T, I) if options.get("batch_first") else (T, B, I)
    layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    hx = states(kind, layers, **{k: v for k, v in options.items() if k == "proj_size"})
    check(kind, options, device, rng.standard_normal(shape), *hx)


@cases("kind_, has_state, batch_first", pairwise(KINDS, (False, True), (False, True)))
def test_one_sequence_without_a_batch(kind_: Any, has_state: bool, batch_first: bool, device: str) -> None:
    kind, own = kind_
    options = {**own, "bidirectional": True, "batch_first": batch_first}
    check(kind, options, device, rng.standard_normal((T, I)), *(states(kind, 2, None, **own) if has_state else []))


@kinds
@cases("shape", [(T, B), (1, 1), (T, 0), (1, B)])
def test_zeros_to_begin_with_and_short_and_empty_batches(
    kind: str, own: dict[str, Any], shape: tuple[int, int], device: str
) -> None:
    check(kind, {**own, "num_layers": 2}, device, rng.standard_normal((*shape, I)))


@kinds
def test_second_order(kind: str, own: dict[str, Any], device: str) -> None:
    array, pairs = rng.standard_normal((3, 2, I)), []
    mine, other = twinned(*(getattr(n, kind)(I, H, **own, bidirectional=True) for n in (nn, torch.nn)), device)
    for t, module, x in ((minigrad, mine, ours(array, True, device)), (torch, other, theirs(array, True))):
        derivatives = t.autograd.grad(module(x)[0].square().sum(), [x, *module.parameters()], create_graph=True)
        sum(f.square().sum() for f in derivatives).backward()
        pairs.append(x.grad)
    assert_close(*pairs)
    compare_gradients(mine, other, 1e-9)


@kinds
def test_keeps_float32_and_layouts(kind: str, own: dict[str, Any], device: str) -> None:
    x = rng.standard_normal((B, I, T))
    turned = lambda t, module, x: module(x.permute(2, 0, 1))
    mine, other = check_twins(lambda n: getattr(n, kind)(I, H, **own), x, device=device, call=turned)
    expected = other(theirs(x).permute(2, 0, 1))[0]
    actual = mine.float()(ours(x, device=device).float().permute(2, 0, 1))[0]
    assert actual.dtype == minigrad.float32
    assert_close(actual, expected, 1e-5)


@cases("kind_, options", pairwise(KINDS, [o for o in OPTIONS if "batch_first" not in o] + [{"num_layers": 2}]))
def test_one_seed_gives_pytorchs_weights_and_names(kind_: Any, options: dict[str, Any]) -> None:
    kind, own = kind_
    check_first_numbers(lambda n: getattr(n, kind)(I, H, **own, **options), exact=True)
    mine, other = (getattr(n, kind)(I, H, **own, **options) for n in (nn, torch.nn))
    assert mine._all_weights == other._all_weights
    assert [len(w) for w in mine.all_weights] == [len(w) for w in other.all_weights]
    assert mine._flat_weights_names == other._flat_weights_names
    assert all(a is getattr(mine, n) for a, n in zip(mine._flat_weights, mine._flat_weights_names, strict=True))


@kinds
def test_dropout_between_layers_is_pytorchs(kind: str, own: dict[str, Any], dropout_of_pytorch: None) -> None:
    def call(t: Any, module: Any, x: Any) -> Any:
        t.manual_seed(2)
        return module(x), module.eval()(x.detach())[0].detach()

    make = lambda n: getattr(n, kind)(I, H, **own, num_layers=3, dropout=0.4, bidirectional=True)
    check_twins(make, rng.standard_normal((T, B, I)), call=call)


@cases("name", ["RNNBase", "RNNCellBase", "RNNCell", "GRUCell", "LSTMCell"])
def test_signatures(name: str) -> None:
    assert_same_signature(getattr(nn, name), getattr(torch.nn, name))


def test_positional_arguments() -> None:
    """PyTorch takes ``*args``, so there is no signature to compare."""
    for kind, args in (
        ("RNN", (I, H, 2, "relu", False, True, 0.1, True)),
        ("GRU", (I, H, 2, False, True, 0.1, True)),
        ("LSTM", (I, H, 2, False, True, 0.1, True, 3)),
        ("RNNBase", ("LSTM", I, H)),
    ):
        mine, other = getattr(nn, kind)(*args), getattr(torch.nn, kind)(*args)
        assert repr(mine) == repr(other) and list(mine.state_dict()) == list(other.state_dict())


def test_attributes_and_harmless_methods() -> None:
    mine, other = nn.LSTM(I, H, 2, dropout=0.1), torch.nn.LSTM(I, H, 2, dropout=0.1)
    names = "mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size"
    for name in names.split():
        assert getattr(mine, name) == getattr(other, name)
    mine.flatten_parameters()
    assert nn.RNN(I, H, nonlinearity="relu").mode == "RNN_RELU" and nn.RNN(I, H).nonlinearity == "tanh"


@kinds
def test_copies_and_pickles(kind: str, own: dict[str, Any]) -> None:
    mine = getattr(nn, kind)(I, H, **own)
    x = minigrad.randn(T, B, I)
    for again in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert_close(again(x)[0], mine(x)[0])
        assert again._flat_weights[0] is again.weight_ih_l0 and again.weight_ih_l0 is not mine.weight_ih_l0


def test_a_weight_may_be_replaced_or_computed_by_ops() -> None:
    """Weight dropping: the attribute is a computed tensor, and the gradient flows on to its operands."""
    mine = nn.LSTM(I, H)
    raw = nn.Parameter(mine.weight_hh_l0.detach().clone())
    del mine.weight_hh_l0
    mine.weight_hh_l0 = raw * 0.5
    mine(minigrad.randn(T, B, I))[0].sum().backward()
    assert raw.grad is not None and float(raw.grad.abs().sum()) > 0


def test_results_may_be_changed_in_place() -> None:
    call = lambda t, module, x: module(x)[0].mul_(2) if t is minigrad else module(x)[0] * 2
    check_twins(lambda n: n.LSTM(I, H), rng.standard_normal((T, B, I)), call=call)


def test_a_weight_changed_before_backward_is_noticed() -> None:
    mine = nn.GRU(I, H)
    out, _ = mine(minigrad.randn(T, B, I))
    with minigrad.no_grad():
        mine.weight_hh_l0.mul_(2)
    raises(RuntimeError, "modified by an inplace", lambda: out.sum().backward())


@cells
@cases("lead, has_state", pairwise([(B,), (), (0,)], (False, True)))
def test_cells(kind: str, own: dict[str, Any], lead: tuple[int, ...], has_state: bool, device: str) -> None:
    hx = [rng.standard_normal((*lead, H)) for _ in range(has_state * (1 + (kind == "LSTMCell")))]
    check(kind, own, device, rng.standard_normal((*lead, I)), *hx)


@cells
def test_one_seed_gives_pytorchs_cells(kind: str, own: dict[str, Any]) -> None:
    check_first_numbers(lambda n: getattr(n, kind)(I, H, **own), exact=True)
    mine, other = (getattr(n, kind)(I, H, **own) for n in (nn, torch.nn))
    assert (mine.bias_ih is None) == (other.bias_ih is None)


BAD = programs("""
LSTM(3, 4, dropout=1.5); LSTM(3, 4, dropout=True); LSTM(3, 0); LSTM(0, 4); LSTM(3, 4.0); LSTM(3, 4, 0);
LSTM(3, 4, proj_size=4); LSTM(3, 4, proj_size=-1); GRU(3, 4, proj_size=2); RNN(3, 4, proj_size=2);
RNN(3, 4, nonlinearity='sig'); RNNBase('FOO', 3, 4); LSTM(3); GRU(3, 4, nonsense=1); LSTM(3, 4)(x(3));
GRU(3, 4)(x(2, 2, 2, 3)); RNN(3, 4)(x(3)); LSTM(3, 4)(x(2, 2, 5)); LSTM(3, 4)(x(2, 2, 3), (x(1, 3, 4), x(1, 2, 4)));
LSTM(3, 4)(x(2, 2, 3), (x(1, 2, 4), x(1, 2, 5))); LSTM(3, 4)(x(2, 2, 3), (x(2, 4), x(2, 4)));
LSTM(3, 4)(x(2, 3), (x(1, 2, 4), x(1, 2, 4))); LSTM(3, 4)(x(2, 3), (x(1, 5), x(1, 4)));
LSTM(3, 4, proj_size=2)(x(2, 2, 3), (x(1, 2, 4), x(1, 2, 4))); GRU(3, 4)(x(2, 2, 3), x(2, 4));
GRU(3, 4)(x(2, 3), x(1, 1, 4)); GRU(3, 4)(x(2, 2, 3), x(1, 3, 4)); GRU(3, 4)(x(0, 2, 3));
RNN(3, 4)(x(2, 2, 3).double()); RNN(3, 4)(x(2, 2, 3), x(1, 2, 4).double()); LSTMCell(3, 4)(x(2, 2, 3));
LSTMCell(3, 4)(x(2, 5)); LSTMCell(3, 4)(x(2, 3), (x(2, 5), x(2, 4))); LSTMCell(3, 4)(x(2, 3), (x(3, 4), x(3, 4)));
LSTMCell(3, 4)(x(2, 3), (x(2, 4), x(2, 5))); LSTMCell(3, 4)(x(2, 3), (x(2, 4),));
LSTMCell(3, 4)(x(2, 3), (x(4), x(4))); LSTMCell(3, 4)(x(2, 3), x(2, 4)); GRUCell(3, 4)(x(2, 3), x(4));
GRUCell(3, 4)(x(2, 3), x(2, 5)); GRUCell(3, 4)(x(2, 3), x(2, 2, 4)); RNNCell(3, 4)(x(2, 5));
RNNCell(3, 4, nonlinearity='foo')(x(2, 3)); RNNCell(3, 4)(x(2, 3), x(2, 4).double()); GRUCell(3, 4)(x(2, 3).double())
""")


def error(program: str, library: Any) -> Exception:
    with pytest.raises(Exception) as raised:
        eval(f"nn.{program}", {"nn": library.nn, "x": lambda *s: library.zeros(*s)})
    return raised.value


@cases("program", BAD)
def test_refusals(program: str) -> None:
    actual, expected = error(program, minigrad), error(program, torch)
    assert isinstance(actual, type(expected)), f"{actual!r} for {expected!r}"
    first = str(expected).split(" Convert")[0].split("(position")[0]
    words = [w for w in first.replace(",", "").split() if w.isalpha() and len(w) > 3]
    texts = sum(w in str(actual) for w in words)
    assert texts >= len(words) / 2, f"{actual} for {expected}"


def test_an_lstm_needs_a_pair() -> None:
    x = minigrad.zeros(T, B, I)
    for hx in (minigrad.zeros(1, B, H), (minigrad.zeros(1, B, H),)):
        raises(RuntimeError, "two hidden states", lambda hx=hx: nn.LSTM(I, H)(x, hx))
    h = minigrad.zeros(1, B, H)
    raises(TypeError, "GRU: hx must be a Tensor, not tuple", lambda: nn.GRU(I, H)(x, (h, h)))
    assert_close(nn.LSTM(I, H)(x, [h, h])[0].sum() * 0, np.float32(0))  # a list will do


def test_dropout_in_a_single_layer_warns_as_pytorch_does() -> None:
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1") as actual:
        nn.GRU(I, H, dropout=0.5)
    assert actual[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.GRU(I, H, 2, dropout=0.5)
