"""The harness, the table of libraries, and CI's libraries, installed and tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ecosystem import environments, report, run
from tests.ecosystem.compare import Results, distance, problems
from tests.ecosystem.table import EXAMPLES, Library, libraries
from tests.ecosystem.trial import BROKEN, DIFFERS, FAILS, RIGHT, Trial, install_and_try, wrong
from tests.support.cases import cases

SAMPLE = [row for row in libraries().values() if row.sample]


def test_each_library_has_an_example_and_each_example_a_library() -> None:
    programs = {row.program for row in libraries().values()}
    assert programs == set(EXAMPLES.glob("*.py"))
    assert len(libraries()) == 37
    assert len(SAMPLE) == 10


@cases("row", libraries().values())
def test_an_example_is_a_documented_program_for_pytorch(row: Library) -> None:
    text = row.program.read_text(encoding="utf-8")
    assert row.example
    assert "def run() -> dict[str, object]:" in text
    assert "minigrad" not in text


def test_results_are_numbers_and_values_that_must_be_equal(tmp_path: Path) -> None:
    class Tensor:
        dtype = "torch.float32"

        def detach(self) -> Tensor:
            return self

        cpu = detach

        def numpy(self) -> Any:
            return np.array([1.0, 2.0], np.float32)

    results = {"loss": 0.5, "ids": [1, 2], "x": Tensor(), "parts": {"text": "a", "pair": [Tensor(), None]}, "z": 1 + 2j}
    arrays, equal = run.flatten(results, Tensor)
    pairs = {key: [1.0, 2.0] for key in ("x", "parts.pair.0", "z")}
    assert {name: array.tolist() for name, array in arrays.items()} == {"loss": 0.5, "ids": [1, 2], **pairs}
    dtypes = dict.fromkeys(("x.dtype", "parts.pair.0.dtype"), "torch.float32")
    assert equal == {**dtypes, "parts.text": "a", "parts.pair.length": 2, "parts.pair.1": None}
    with pytest.raises(TypeError, match="config is a object"):
        run.flatten({"config": object()}, Tensor)


@cases(
    "ours, theirs, expected",
    [
        ([1.0, 100.0], [1.001, 100.0], 1e-5),  # relative to the largest
        ([0.0, 1e-9], [0.0, 0.0], 1e-6),  # near 0, relative to the smallest scale
        ([np.nan, np.inf, 1.0], [np.nan, np.inf, 1.0], 0.0),
        ([np.nan, 1.0], [1.0, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([1.0], [1.0, 1.0], np.inf),
    ],
)
def test_differences_are_relative_to_the_largest_number(ours: Any, theirs: Any, expected: float) -> None:
    assert distance(np.array(ours), np.array(theirs)) == pytest.approx(expected)


@cases(
    "ours, theirs, words",
    [
        (Results({"x": np.ones(2)}, {}), Results({"x": np.ones(2)}, {}), ""),
        (Results({"x": np.array([1.0, 1.0002])}, {}), Results({"x": np.ones(2)}, {}), "x differs by 2.0e-04"),
        (Results({"x": np.array([1, 2])}, {}), Results({"x": np.array([1, 3])}, {}), "x differs by"),
        (Results({"x": np.ones(2)}, {}), Results({"x": np.ones(2, np.float32)}, {}), "x is float64"),
        (Results({"x": np.ones(2)}, {}), Results({"x": np.ones((1, 2))}, {}), "x is float64"),
        (Results({}, {"x": "a"}), Results({}, {"x": "b"}), "x is 'a', PyTorch's 'b'"),
        (Results({"x": np.ones(2)}, {}), Results({"x": np.ones(2)}, {"y": 1}), "value y is missing"),
        (Results({"x": np.ones(2), "y": np.ones(2)}, {}), Results({"x": np.ones(2)}, {}), "array y is one too many"),
        (Results({}, {}), Results({}, {}), "returned nothing"),
    ],
)
def test_differences_are_described(ours: Results, theirs: Results, words: str) -> None:
    actual = "; ".join(problems(ours, theirs))
    assert words in actual
    assert bool(words) == bool(actual)


@cases(
    "verdict, differs, complaint",
    [
        (RIGHT, "", ""),
        (RIGHT, "it needs C++", "is right, and libraries.toml says: it needs C++"),
        (DIFFERS, "", "seen"),
        (DIFFERS, "it needs C++", ""),
        (FAILS, "it needs C++", ""),
        (BROKEN, "it needs C++", "seen"),
    ],
)
def test_a_verdict_must_match_the_table(verdict: str, differs: str, complaint: str) -> None:
    trial = Trial(verdict, why="" if verdict == RIGHT else "seen")
    assert wrong(Library("name", "1.0", differs=differs), trial) == complaint


def test_the_page_matches_the_results() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page()
    rows = json.loads(report.RESULTS.read_text(encoding="utf-8"))
    assert list(rows) == list(libraries())
    for name, row in libraries().items():
        assert (rows[name]["version"], rows[name]["verdict"] == RIGHT) == (row.version, not row.differs), name


# The libraries of CI -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Minigrad's wheel."""
    return environments.build(tmp_path_factory.mktemp("wheel"))


@pytest.mark.skipif(environments.torch_version() is None, reason="compares with PyTorch, which is not installed")
@pytest.mark.skipif(environments.uv() is None, reason="environments are made by uv, which is not installed")
@pytest.mark.parametrize("row", SAMPLE, ids=[row.name for row in SAMPLE])
def test_a_library_gives_pytorchs_numbers(row: Library, wheel: Path, tmp_path: Path) -> None:
    trial = install_and_try(row, wheel, tmp_path)
    assert not wrong(row, trial), trial.log
