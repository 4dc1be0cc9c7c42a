"""Packed and padded sequences as PyTorch's, alone and through recurrent layers."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn.utils import rnn
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, in_torch_words, ours, theirs, torch
from tests.support.twins import compare_gradients, pair, twinned

T, B, I, H = 5, 4, 3, 2
LENGTHS = [3, 5, 1, 3]
theirs_rnn = torch.nn.utils.rnn
NAMES = [
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]


def assert_same(found: Any, expected: Any) -> None:
    """Two PackedSequences, part by part."""
    for name in ("data", "batch_sizes", "sorted_indices", "unsorted_indices"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (other is None), name
        if mine is not None:
            assert_close(mine, other, what=name)
            assert str(mine.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]


@cases("batch_first", [False, True])
@cases("enforce_sorted", [False, True])
@cases("rest", [(), (I,), (2, I)])
def test_there_and_back(batch_first: bool, enforce_sorted: bool, rest: tuple[int, ...], device: str) -> None:
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    x, tx = pair(rng.standard_normal((*((B, T) if batch_first else (T, B)), *rest)), device, True)
    found = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted)
    expected = theirs_rnn.pack_padded_sequence(tx, lengths, batch_first, enforce_sorted)
    assert_same(found, expected)
    assert found.batch_sizes.device.type == "cpu"
    for flag, total in ((False, None), (True, None), (batch_first, T + 2)):
        padded, ends = rnn.pad_packed_sequence(found, flag, -2.5, total)
        theirs_padded, theirs_ends = theirs_rnn.pad_packed_sequence(expected, flag, -2.5, total)
        assert_close(padded, theirs_padded)
        assert_close(ends, theirs_ends)
    g, tg = pair(rng.standard_normal(host(padded).shape), device)
    (first,) = minigrad.autograd.grad((padded * g).square().sum(), x, create_graph=True)
    (expected_first,) = torch.autograd.grad((theirs_padded * tg).square().sum(), tx, create_graph=True)
    first.pow(3).sum().backward()
    expected_first.pow(3).sum().backward()
    assert_close(first, expected_first)
    assert_close(x.grad, tx.grad)


@cases("lengths", [LENGTHS, tuple(LENGTHS), np.array(LENGTHS)])
def test_lengths_in_any_form(lengths: Any) -> None:
    x = ours(rng.standard_normal((T, B, I)))
    expected = rnn.pack_padded_sequence(x, minigrad.tensor(LENGTHS), enforce_sorted=False)
    assert_same(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False), expected)
    short = minigrad.tensor(LENGTHS, dtype=minigrad.int32)
    assert_same(rnn.pack_padded_sequence(x, short, enforce_sorted=False), expected)


def test_integers_stay() -> None:
    x = np.arange(T * B).reshape(T, B)
    found = rnn.pack_padded_sequence(ours(x), LENGTHS, enforce_sorted=False)
    expected = theirs_rnn.pack_padded_sequence(theirs(x), LENGTHS, enforce_sorted=False)
    assert_same(found, expected)
    padded = theirs_rnn.pad_packed_sequence(expected, padding_value=-1)[0]
    assert_close(rnn.pad_packed_sequence(found, padding_value=-1)[0], padded)


@cases("side", ["right", "left"])
@cases("batch_first", [False, True])
def test_pad_sequence_passes_gradients_on(batch_first: bool, side: str, device: str) -> None:
    pairs = [pair(rng.standard_normal((n, I)), device, True) for n in LENGTHS]
    found = rnn.pad_sequence([a for a, _ in pairs], batch_first, 0.5, side)
    expected = theirs_rnn.pad_sequence([b for _, b in pairs], batch_first, 0.5, side)
    assert_close(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    for mine, other in pairs:
        assert_close(mine.grad, other.grad)


def test_sequences_of_any_kind() -> None:
    lists = [[1, 2], [3], [4, 5, 6]]
    mine, other = ([n.tensor(s) for s in lists] for n in (minigrad, torch))
    assert_close(rnn.pad_sequence(iter(mine), True), theirs_rnn.pad_sequence(other, True))
    table, theirs_table = pair(np.arange(6.0).reshape(3, 2))
    assert_close(rnn.pad_sequence(table), theirs_rnn.pad_sequence(theirs_table))
    mixed = rnn.pad_sequence([table[0], minigrad.tensor([1])])
    assert mixed.dtype == minigrad.float64
    assert rnn.pad_sequence([minigrad.zeros(0, 2), minigrad.zeros(0, 2)]).shape == (0, 2, 2)


@cases("enforce_sorted", [False, True])
def test_pack_and_unpack_sequences(enforce_sorted: bool, device: str) -> None:
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    pairs = [pair(rng.standard_normal((n, I)), device) for n in lengths]
    mine, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = rnn.pack_sequence(mine, enforce_sorted=enforce_sorted)
    assert_same(found, theirs_rnn.pack_sequence(other, enforce_sorted=enforce_sorted))
    for again, sequence in zip(rnn.unpack_sequence(found), mine, strict=True):
        assert_close(again, sequence)
    for flag in (False, True):
        padded = rnn.pad_sequence(mine, batch_first=flag)
        for again, sequence in zip(rnn.unpad_sequence(padded, minigrad.tensor(lengths), flag), mine, strict=True):
            assert_close(again, sequence)
        assert padded.shape[flag] == max(lengths)  # PyTorch's transposes its argument in place


def test_invert_permutation() -> None:
    assert rnn.invert_permutation(None) is None
    order = np.array([2, 0, 3, 1])
    assert_close(rnn.invert_permutation(ours(order)), theirs_rnn.invert_permutation(theirs(order)))


# PackedSequence -------------------------------------------------------------------------------------------


def packed(dtype: Any = np.float64) -> tuple[Any, Any]:
    x = np.arange(T * B * I).reshape(T, B, I).astype(dtype)
    return (
        rnn.pack_padded_sequence(ours(x), LENGTHS, enforce_sorted=False),
        theirs_rnn.pack_padded_sequence(theirs(x), LENGTHS, enforce_sorted=False),
    )


def test_is_a_named_tuple() -> None:
    mine, other = packed()
    assert isinstance(mine, tuple) and len(mine) == len(other) == 4
    assert mine._fields == other._fields
    assert mine[0] is mine.data and mine[1] is mine.batch_sizes
    data, sizes, _, _ = mine
    assert in_torch_words(repr(mine)) == repr(other)
    assert_same(mine._replace(data=data * 2), other._replace(data=other.data * 2))
    assert isinstance(mine._replace(data=data), rnn.PackedSequence)
    assert rnn.PackedSequence(data, sizes).sorted_indices is None
    assert_same(rnn.PackedSequence((data, sizes)), rnn.PackedSequence(data, sizes))
    made = rnn.PackedSequence(data, sizes, mine.sorted_indices)
    assert_close(made.unsorted_indices, other.unsorted_indices)


@cases("name", ["double", "float", "half", "long", "int", "short", "char", "byte", "cpu"])
def test_conversions(name: str) -> None:
    mine, other = packed(np.float32)
    assert_same(getattr(mine, name)(), getattr(other, name)())
    assert mine.to("cpu") is mine and mine.to(minigrad.float32) is mine and mine.float() is mine
    assert_same(mine.to(dtype=minigrad.float64), other.double())
    assert not mine.is_cuda and not mine.is_pinned() and mine.pin_memory() is mine


def test_to_a_device(device: str) -> None:
    mine = packed()[0].to(device)
    for part in (mine.data, mine.sorted_indices, mine.unsorted_indices):
        assert part.device.type == device
    assert mine.batch_sizes.device.type == "cpu"
    assert mine.cpu().data.device.type == "cpu"


def test_copies_and_pickles() -> None:
    mine, other = packed()
    for again in (copy.deepcopy(mine), copy.copy(mine), pickle.loads(pickle.dumps(mine))):
        assert isinstance(again, rnn.PackedSequence)
        assert_same(again, other)


@cases("name", NAMES)
def test_signatures(name: str) -> None:
    found, expected = (inspect.signature(getattr(m, name)).parameters for m in (rnn, theirs_rnn))
    assert [(p.name, p.default) for p in found.values()] == [(p.name, p.default) for p in expected.values()]


# Through layers -------------------------------------------------------------------------------------------


@cases("enforce_sorted", [False, True])
@cases("given", [False, True])
@cases(
    "kind, own", [("RNN", {}), ("GRU", {"bias": False}), ("LSTM", {"batch_first": True}), ("LSTM", {"proj_size": 1})]
)
def test_layers(kind: str, own: dict[str, Any], given: bool, enforce_sorted: bool, device: str) -> None:
    mine, other = twinned(
        getattr(nn, kind)(I, H, 2, bidirectional=True, **own),
        getattr(torch.nn, kind)(I, H, 2, bidirectional=True, **own),
        device,
    )
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    x, tx = pair(rng.standard_normal((T, B, I)), device, True)
    leaves = [(x, tx)]
    hx = thx = None
    if given:
        widths = [own.get("proj_size", H), H][: 1 + (kind == "LSTM")]
        leaves += [pair(rng.standard_normal((4, B, w)), device, True) for w in widths]
        hx, thx = tuple(a for a, _ in leaves[1:]), tuple(b for _, b in leaves[1:])
        hx, thx = (hx, thx) if kind == "LSTM" else (hx[0], thx[0])
    out, last = mine(rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted), hx)
    tout, tlast = other(theirs_rnn.pack_padded_sequence(tx, lengths, enforce_sorted=enforce_sorted), thx)
    assert isinstance(out, rnn.PackedSequence)
    assert_same(out, tout)
    total, ttotal = (rnn.pad_packed_sequence(out)[0].sin().sum(), theirs_rnn.pad_packed_sequence(tout)[0].sin().sum())
    for found, wanted in zip(*((last, tlast) if kind == "LSTM" else ((last,), (tlast,))), strict=True):
        assert_close(found, wanted)
        g, tg = pair(rng.standard_normal(host(found).shape), device)
        total, ttotal = total + (found * g).sum(), ttotal + (wanted * tg).sum()
    total.backward()
    ttotal.backward()
    for leaf, expected in leaves:
        assert_close(leaf.grad, expected.grad)
    compare_gradients(mine, other)


def test_a_packed_sequence_gives_what_each_sequence_gives_alone() -> None:
    layer = nn.LSTM(I, H, bidirectional=True).double()
    x = ours(rng.standard_normal((B, T, I)))
    packed_out, (h, _) = layer(rnn.pack_padded_sequence(x, LENGTHS, True, False))
    for i, out in enumerate(rnn.unpack_sequence(packed_out)):
        alone, (own, _) = layer(x[i, : LENGTHS[i]])
        assert_close(out, alone)
        assert_close(h[:, i], own)


# Refusals -------------------------------------------------------------------------------------------------

PROGRAMS = [
    "pack_padded_sequence(x, [2, 4, 2, 1])",
    "pack_padded_sequence(x, [4, 3])",
    "pack_padded_sequence(x, [])",
    "pack_padded_sequence(x, [4, 3, 2, 0])",
    "pack_padded_sequence(x, tensor([[4, 3, 2, 1]]))",
    "pack_padded_sequence(x[:, :0], [])",
    "pack_padded_sequence(x[:, 0, 0], [5])",
    "pad_packed_sequence(p, total_length=2)",
    "pack_sequence([])",
    "pad_sequence([])",
    "pad_sequence(3)",
    "pack_sequence([x[:2, 0], x[:3, 1]])",
    "pad_sequence([x[0], x[1]], padding_side='up')",
    "PackedSequence(x)",
    "pad_packed_sequence(x)",
]


@cases("program", PROGRAMS)
def test_refusals(program: str) -> None:
    told = []
    for library, module, p in zip((minigrad, torch), (rnn, theirs_rnn), packed(), strict=True):
        with pytest.raises(Exception) as raised:
            eval(f"m.{program}", {"m": module, "x": library.ones(T, B, I), "p": p, "tensor": library.tensor})
        told.append(raised.value)
    assert isinstance(told[0], type(told[1])), told


def test_a_length_beyond_the_input_is_refused() -> None:
    """PyTorch gives fewer rows than the sizes say."""
    with pytest.raises(RuntimeError, match="a length of 6, but the input has 5 steps"):
        rnn.pack_padded_sequence(minigrad.ones(T, B, I), [6, 5, 4, 3])
    with pytest.raises(RuntimeError, match="must be equal but for L"):
        rnn.pad_sequence([minigrad.ones(2, 3), minigrad.ones(2, 4)])


def test_a_hidden_state_of_another_batch_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected hidden"):
        nn.GRU(I, H).double()(packed()[0], minigrad.zeros(1, B + 1, H).double())
    raises(ValueError, "does not match weight dtype", lambda: nn.GRU(I, H)(packed()[0]))
