"""Probes and comparisons can fail: they detect a device that computes wrong results."""

import importlib
import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import parity, probes
from benchmarks.gpu.place import Place
from benchmarks.process import Differ
from tests.ops import cases
from tests.support.cases import raises

# CuPy names that benchmarks.gpu uses on a GPU.
NAMES = """
    __version__ RawModule RawModule.compile cuda.Event cuda.Event.record cuda.get_elapsed_time
    cuda.runtime.getDeviceProperties cuda.runtime.runtimeGetVersion cuda.runtime.driverGetVersion
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    where = Place("parity", tmp_path / "parity.jsonl", "strict", tmp_path, 60.0)
    where.begin()
    return where


def test_the_emulator_passes(place: Place) -> None:
    for probe in probes.items(place).values():
        probe()


def test_an_op_with_a_wrong_gradient_is_detected(place: Place) -> None:
    times = lambda factor: cases.Case("", lambda t, x: x * (1 if x.is_cpu else factor), lambda *_: None, ((3, 4),))
    probes.checked(place, [times(1)], "float32")
    raises(AssertionError, "Not equal", lambda: probes.checked(place, [times(1.001)], "float32"))


def test_numbers_that_differ_from_pytorch_are_reported(place: Place) -> None:
    """The stage reads the rows of ``parity-torch``, here minigrad's numbers."""
    row = parity.numbers(place, "tiny", "float64")
    *norms, last = row["norms"]

    def compared(row: dict[str, Any]) -> dict[str, Any]:
        file = place.rows.with_name("parity-torch.jsonl")
        file.write_text(json.dumps({"item": "tiny float64", "values": row}) + "\n", encoding="utf-8")
        return parity.compared(place, "tiny", "float64")

    same = compared(row)
    assert same["loss differs by"] == same["gradients"] == same["after 3 × Adam"] == 0
    raises(Differ, "1e-09 allowed", lambda: compared({**row, "norms": [*norms, last * (1 + 1e-6) + 1e-6]}))


def test_all_names_exist_in_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    for name in NAMES.split():
        assert attrgetter(name)(cupy) is not None
    assert importlib.import_module("cupy_backends.cuda.libs.nvrtc").getVersion
