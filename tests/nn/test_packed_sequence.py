"""Packed and padded sequences as in PyTorch, directly and through recurrent layers."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn.utils import rnn
from tests.support.both import agree
from tests.support.cases import cases, pairwise, programs, raises, rng
from tests.support.parity import assert_close, assert_same_signature, in_torch_words, ours, theirs, torch
from tests.support.twins import check_twins, pair

T, B, I, H = 5, 4, 3, 2
LENGTHS = [3, 5, 1, 3]
theirs_rnn = torch.nn.utils.rnn
NAMES = "invert_permutation pack_padded_sequence pad_packed_sequence pad_sequence unpad_sequence pack_sequence"


def assert_same(actual: Any, expected: Any) -> None:
    """Two PackedSequences, part by part."""
    for name in ("data", "batch_sizes", "sorted_indices", "unsorted_indices"):
        mine, other = getattr(actual, name), getattr(expected, name)
        assert (mine is None) == (other is None), name
        if mine is not None:
            assert_close(mine, other, name=name)
            assert str(mine.dtype).split(".")[-1] == str(other.dtype).split(".")[-1]


def packed_parts(sequence: Any) -> list[Any]:
    return [sequence.data, sequence.batch_sizes, sequence.sorted_indices, sequence.unsorted_indices]


@cases("batch_first, enforce_sorted, rest", pairwise([False, True], [False, True], [(), (I,), (2, I)]))
def test_there_and_back(batch_first: bool, enforce_sorted: bool, rest: tuple[int, ...], device: str) -> None:
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS

    def program(t: Any, x: Any) -> list[Any]:
        module = t.nn.utils.rnn
        packed = module.pack_padded_sequence(x, lengths, batch_first, enforce_sorted)
        assert packed.batch_sizes.device.type == "cpu"
        hows = ((False, None), (True, None), (batch_first, T + 2))
        return [packed_parts(packed), [module.pad_packed_sequence(packed, flag, -2.5, n) for flag, n in hows]]

    agree(program, rng.standard_normal((*((B, T) if batch_first else (T, B)), *rest)), orders=2, device=device)


def test_lengths_in_any_form_and_integers() -> None:
    x = ours(rng.standard_normal((T, B, I)))
    expected = rnn.pack_padded_sequence(x, minigrad.tensor(LENGTHS), enforce_sorted=False)
    for lengths in (LENGTHS, tuple(LENGTHS), np.array(LENGTHS), minigrad.tensor(LENGTHS, dtype=minigrad.int32)):
        assert_same(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False), expected)

    def program(t: Any, x: Any) -> list[Any]:
        packed = t.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, enforce_sorted=False)
        return [packed_parts(packed), t.nn.utils.rnn.pad_packed_sequence(packed, padding_value=-1)[0]]

    agree(program, np.arange(T * B).reshape(T, B))


@cases("batch_first, side", itertools.product([False, True], ["right", "left"]))
def test_pad_sequence(batch_first: bool, side: str, device: str) -> None:
    pad = lambda t, *xs: t.nn.utils.rnn.pad_sequence(list(xs), batch_first, 5, side)
    agree(pad, *(rng.standard_normal((n, I)) for n in LENGTHS), device=device)
    agree(pad, *(np.arange(n * I).reshape(n, I) for n in LENGTHS), device=device)


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
    actual = rnn.pack_sequence(mine, enforce_sorted=enforce_sorted)
    assert_same(actual, theirs_rnn.pack_sequence(other, enforce_sorted=enforce_sorted))
    back = [rnn.unpack_sequence(actual)]
    for flag in (False, True):
        padded = rnn.pad_sequence(mine, batch_first=flag)
        back.append(rnn.unpad_sequence(padded, minigrad.tensor(lengths), flag))
        assert padded.shape[flag] == max(lengths)  # PyTorch transposes its argument in place
    for sequences in back:
        for again, sequence in zip(sequences, mine, strict=True):
            assert_close(again, sequence)


def test_invert_permutation() -> None:
    assert rnn.invert_permutation(None) is None
    order = np.array([2, 0, 3, 1])
    assert_close(rnn.invert_permutation(ours(order)), theirs_rnn.invert_permutation(theirs(order)))


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
    sequence = rnn.PackedSequence(data, sizes, mine.sorted_indices)
    assert_close(sequence.unsorted_indices, other.unsorted_indices)


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
    assert mine.batch_sizes.device.type == "cpu" and mine.cpu().data.device.type == "cpu"


def test_copies_and_pickles() -> None:
    mine, other = packed()
    for again in (copy.deepcopy(mine), copy.copy(mine), pickle.loads(pickle.dumps(mine))):
        assert isinstance(again, rnn.PackedSequence)
        assert_same(again, other)


@cases("name", [*NAMES.split(), "unpack_sequence"])
def test_signatures(name: str) -> None:
    assert_same_signature(getattr(rnn, name), getattr(theirs_rnn, name))


KINDS = [("RNN", {}), ("GRU", {"bias": False}), ("LSTM", {"batch_first": True}), ("LSTM", {"proj_size": 1})]


@cases("kind_, has_state, enforce_sorted", pairwise(KINDS, [False, True], [False, True]))
def test_layers(kind_: Any, has_state: bool, enforce_sorted: bool, device: str) -> None:
    kind, own = kind_
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    widths = [own.get("proj_size", H), H][: has_state * (1 + (kind == "LSTM"))]

    def call(t: Any, module: Any, x: Any, *hx: Any) -> Any:
        sequence = t.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
        out, last = module(sequence, *([hx] if len(hx) == 2 else hx))
        return packed_parts(out), last

    arrays = [rng.standard_normal(shape) for shape in ((T, B, I), *((4, B, w) for w in widths))]
    check_twins(lambda n: getattr(n, kind)(I, H, 2, bidirectional=True, **own), *arrays, device=device, call=call)


PROGRAMS = programs("""
pack_padded_sequence(x, [2, 4, 2, 1]); pack_padded_sequence(x, [4, 3]); pack_padded_sequence(x, []);
pack_padded_sequence(x, [4, 3, 2, 0]); pack_padded_sequence(x, tensor([[4, 3, 2, 1]]));
pack_padded_sequence(x[:, :0], []); pack_padded_sequence(x[:, 0, 0], [5]); pad_packed_sequence(p, total_length=2);
pack_sequence([]); pad_sequence([]); pad_sequence(3); pack_sequence([x[:2, 0], x[:3, 1]]);
pad_sequence([x[0], x[1]], padding_side='up'); PackedSequence(x); pad_packed_sequence(x)
""")


@cases("program", PROGRAMS)
def test_refusals(program: str) -> None:
    texts = []
    for library, module, p in zip((minigrad, torch), (rnn, theirs_rnn), packed(), strict=True):
        with pytest.raises(Exception) as raised:
            eval(f"m.{program}", {"m": module, "x": library.ones(T, B, I), "p": p, "tensor": library.tensor})
        texts.append(raised.value)
    assert isinstance(texts[0], type(texts[1])), texts


def test_a_length_beyond_the_input_is_refused() -> None:
    """PyTorch returns fewer rows than the sizes specify."""
    x, one = minigrad.ones(T, B, I), minigrad.ones
    raises(RuntimeError, "a length is 6, but the input has 5", lambda: rnn.pack_padded_sequence(x, [6, 5, 4, 3]))
    raises(RuntimeError, "must differ only in L", lambda: rnn.pad_sequence([one(2, 3), one(2, 4)]))


def test_a_hidden_state_of_another_batch_is_refused() -> None:
    h = minigrad.zeros(1, B + 1, H).double()
    raises(RuntimeError, "Expected hidden", lambda: nn.GRU(I, H).double()(packed()[0], h))
    raises(ValueError, "does not match weight dtype", lambda: nn.GRU(I, H)(packed()[0]))
