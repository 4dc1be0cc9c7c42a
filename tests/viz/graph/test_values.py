"""Values: tables of small arrays, statistics and heat maps of large ones, for every dtype and device."""

import base64
import json
import math
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.viz.graph import graph_data as values
from minigrad.viz.graph.graph_data import CELLS, Stored, blocks, heat, outline, value_of


def on(device: str, array: Any) -> Any:
    return minigrad.tensor(array, device=device).array


def test_a_small_array_is_a_table_of_its_numbers(device: str) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
    value = value_of(on(device, array))
    json.dumps(asdict(value))
    assert (value.shape, value.dtype, value.bytes) == ((2, 3, 4), "float32", 96)
    assert value.device.startswith(device) and value.statistics is None and value.heat is None
    assert value.table == array.reshape(6, 4).tolist()  # exact: every float32 is a float64


def test_tables_of_all_kinds() -> None:
    for array, table in [
        (np.array(2.5), [[2.5]]),
        (np.array([True, False]), [[1, 0]]),
        (np.array([[2**62, -3]]), [[2**62, -3]]),
        (np.array([1 + 2j, 3 - 4j]), [[1.0, 2.0, 3.0, -4.0]]),
        (np.array(1 - 2j), [[1.0, -2.0]]),
        (np.zeros((0,)), [[]]),
        (np.zeros((3, 0)), [[], [], []]),
        (np.zeros((0, 3), dtype=np.complex64), []),
        (np.zeros((2, 0), dtype=np.complex64), [[], []]),
        (np.arange(12).reshape(3, 4).T[::-1], np.arange(12).reshape(3, 4).T[::-1].tolist()),
    ]:
        assert value_of(array).table == table
    array = np.random.default_rng(2).normal(size=(30, 40)).T[::-1]  # in any memory layout
    assert value_of(array).statistics == pytest.approx(value_of(np.ascontiguousarray(array)).statistics)


def test_statistics_match_numpy(device: str) -> None:
    array = (np.random.default_rng(0).normal(3, 2, (50, 40, 70))).astype(np.float32)  # more than one block
    array[0, :, :] = 0
    value, wide = value_of(on(device, array)), array.astype(np.float64)
    assert value.table is None
    bounds = {"min": wide.min(), "max": wide.max(), "zeros": 2800, "nan": 0}
    moments = {"mean": wide.mean(), "std": wide.std(), "norm": np.linalg.norm(wide.ravel())}
    assert value.statistics == pytest.approx({**bounds, **moments}, rel=1e-10)
    far = 1e9 + np.random.default_rng(0).normal(0, 1, 200_000)  # no cancellation
    assert value_of(far).statistics["std"] == pytest.approx(far.std(), rel=1e-6)  # type: ignore[index]


def test_nan_and_infinities_are_counted_and_excluded(device: str) -> None:
    array = np.ones((10, 10), np.float32)
    array[0, :3], array[1, 0] = (np.nan, np.inf, -np.inf), 5
    value = value_of(on(device, array))
    assert [value.statistics[name] for name in ("nan", "min", "max", "mean")] == pytest.approx([3, 1, 5, 101 / 97])
    assert math.isnan(value.heat[0][0]) and value.heat[0][2] == -math.inf


def test_numbers_whose_squares_overflow(device: str) -> None:
    for size in (1e-300, 1e-160, 1e160, 1e300):
        array = np.array([[3.0, 4.0, np.nan, -np.inf], *[[0.0, 0, 0, 0]] * 24]) * size
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            statistics = value_of(on(device, array)).statistics
        assert (statistics["zeros"], statistics["nan"], statistics["max"]) == (96, 2, 4 * size)
        moments = [5, 7 / 98, math.sqrt(25 / 98 - (7 / 98) ** 2)]
        assert [statistics[name] / size for name in ("norm", "mean", "std")] == pytest.approx(moments)
    empty = value_of(np.full(100, np.nan)).statistics
    assert empty is not None and empty["nan"] == 100 and math.isnan(empty["mean"]) and math.isnan(empty["min"])


def test_statistics_of_every_dtype(device: str) -> None:
    for dtype in ("bool", "uint8", "int64", "float16", "float64", "complex64"):
        array = (np.arange(100) % 3).astype(dtype)
        value = value_of(on(device, array))
        assert value.dtype == dtype and value.statistics is not None
        assert value.statistics["mean"] == pytest.approx(np.abs(array.astype(np.complex128)).mean())
        assert value.statistics["zeros"] == (array == 0).sum()


def test_heat_maps_are_means_of_cells(device: str) -> None:
    for shape in ((65,), (33, 64), (4, 9, 50), (1, 1000), (1000, 1)):
        array = np.random.default_rng(1).normal(size=shape)
        cells = value_of(on(device, array)).heat
        assert cells is not None and len(cells) <= CELLS and len(cells[0]) <= CELLS
        count = blocks(shape)
        matrices = array.reshape(count, -1, shape[-1])
        tall, wide = -(-matrices.shape[1] // (CELLS // count)), -(-matrices.shape[2] // CELLS)
        each = -(-matrices.shape[1] // tall)
        for i, row in enumerate(cells):
            first = tall * (i % each)
            for j, cell in enumerate(row):
                part = matrices[i // each, first : first + tall, j * wide : (j + 1) * wide]
                assert cell == pytest.approx(part.mean(), rel=6e-3, abs=1e-12), (shape, i, j)
        assert len(cells) == count * each and len(cells[0]) == -(-matrices.shape[2] // wide)


def test_heads_are_separate_in_a_heat_map(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [blocks(shape) for shape in ((9, 50), (4, 9, 50), (2, 4, 9, 50), (40, 9, 50))] == [1, 4, 8, 1]
    stored = Stored()
    stored.encoded(value_of(np.arange(4 * 10 * 8.0).reshape(1, 4, 10, 8)))
    first = stored.packed()[0]["heat"]
    assert (first["rows"], first["columns"], first["blocks"]) == (20, 8, 4)
    monkeypatch.setattr(values, "HEAT_BYTES", 40)
    assert stored.packed()[0]["heat"]["blocks"] == 1  # a cell spans two heads


def test_the_outline_of_a_freed_value() -> None:
    value = outline((2, 3), np.dtype("float16"), "cpu")
    assert (value.shape, value.dtype, value.bytes) == ((2, 3), "float16", 12)
    assert value.table is None and value.statistics is None


def test_equal_values_are_stored_once() -> None:
    first, same, other = value_of(np.ones(2)), value_of(np.ones(2)), value_of(np.full(2, np.nan))
    late, nan = value_of(np.zeros(3)), value_of(np.full(2, np.nan))
    stored = Stored()
    assert stored.encoded([first, None, same, {"of": other}]) == [0, None, 0, {"of": 1}]
    assert stored.encoded((first, same, other, nan, None, late)) == [0, 0, 1, 1, None, 2]
    assert [value["table"] for value in stored.packed()][::2] == [[[1.0, 1.0]], [[0.0, 0.0, 0.0]]]


def test_heat_maps_in_a_page_keep_nan_and_infinities() -> None:
    cases = [
        ([[-1.0, 0.0], [1.0, math.nan]], 1, -1.0, 1.0, [0, 127, 254, 255]),
        ([[1.0, 3.0, 5.0], [1.0, 3.0, 7.0]], 2, 2.0, 6.0, [0, 254]),
        ([[2.0, 2.0]], 1, 2.0, 2.0, [0, 0]),
        ([[math.inf, -math.inf, 1.0, 3.0], [math.nan, 0.0, 1.0, 3.0]], 2, 2.0, 2.0, [255, 0]),
        ([[math.nan, math.inf]], 1, 0.0, 0.0, [255, 255]),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array, step, low, high, cells in cases:
            packed = heat(array, step=step)
            assert (packed["low"], packed["high"], list(base64.b64decode(packed["cells"]))) == (low, high, cells)
    assert heat(None) is None and heat([]) is None and heat([[]]) is None
