"""Views of the same memory stay views of the same memory: in every file format, on every device, in deep copies."""

import copy
import io
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.serialization import load, save
from minigrad.serialization.memory import view
from tests.support.cases import each
from tests.support.parity import host, torch

Copier = Callable[[Any, Path], Any]


class Config:
    """A user-defined class: objects that contain it are pickled."""


def by_file(name: str, *more: Any, **options: Any) -> Copier:
    def copier(value: Any, folder: Path) -> Any:
        save([value, *more], folder / name)
        return load(folder / name, **options)[0]

    return copier


def by_stream(value: Any, folder: Path) -> Any:
    file = io.BytesIO()
    save(value, file)
    file.seek(0)
    return load(file)


COPIERS: dict[str, Copier] = {
    "pt": by_file("x.pt"),
    "pt mapped": by_file("x.pt", mmap=True),
    "safetensors": by_file("x.safetensors"),
    "safetensors mapped": by_file("x.safetensors", mmap=True),
    "time.pt": by_file("x.pt", np.array("2020-01-01", "M8[D]")),
    "pickled": by_file("x.pt", Config(), weights_only=False),
    "pickled by name": by_file("x.safetensors", Config(), weights_only=False),
    "stream": by_stream,
    "deepcopy": lambda value, folder: copy.deepcopy(value),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "part": lambda a: a[2:4],
    "row": lambda a: a[3:4],
    "number": lambda a: a[5],
    "shape": lambda a: a.view(3, 4),
    "transposed": lambda a: a.view(3, 4).T,
    "every second": lambda a: a[::2],
    "columns": lambda a: a.view(3, 4)[:, 1:3],
    "expanded": lambda a: a[:1].expand(3),
    "parameter": nn.Parameter,
    "parameter's data": lambda a: nn.Parameter(a[1:]).data,
    "bits": lambda a: a.view(minigrad.int32),
}


@pytest.mark.parametrize("form", COPIERS)
def test_views_stay_views(form: str, tmp_path: Path, device: str) -> None:
    """In any order of writing: changes to one appear in the other."""

    def check(case: tuple[bool, str]) -> None:
        is_first, view_of = case[0], VIEWS[case[1]]
        a = minigrad.arange(12.0, device=device)
        pair = [view_of(a), a] if is_first else [a, view_of(a)]
        copies = COPIERS[form](pair, tmp_path)
        whole, part = reversed(copies) if is_first else copies
        expected = view_of(whole.detach())
        assert part.device.type == device and part.shape == expected.shape and part.stride() == expected.stride()
        with minigrad.no_grad():
            whole.mul_(10).add_(3)
        np.testing.assert_array_equal(host(part), host(expected))
        np.testing.assert_array_equal(host(pair[0]), host(view_of(a) if is_first else a))  # the originals

    each(product((False, True), VIEWS), check)


@pytest.mark.parametrize("form", COPIERS)
def test_parts_without_their_whole(form: str, tmp_path: Path, device: str) -> None:
    x = minigrad.arange(20.0, device=device).view(4, 5)
    copy = COPIERS[form]({"a": x[:3, 1:], "b": x[1:, :4].T, "apart": x[3, 4:], "c": {"d": x[1:3, 2]}}, tmp_path)
    copy["a"][1, 1] = 70
    assert copy["b"].tolist() == [[5, 10, 15], [6, 11, 16], [70, 12, 17], [8, 13, 18]]
    assert copy["c"]["d"].tolist() == [70, 12] and copy["apart"].tolist() == [19]


@pytest.mark.parametrize("form", COPIERS)
def test_bfloat16_and_empty_tensors(form: str, tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    b = minigrad.arange(6.0).bfloat16()
    copies = COPIERS[form]([b, b[2:], b[3:3], b.view(2, 3)[:, :0], minigrad.zeros(0, 2)], tmp_path)
    copies[0][3] = 9
    assert copies[1].tolist() == [2, 9, 4, 5] and copies[1].dtype is minigrad.bfloat16
    assert [tuple(empty.shape) for empty in copies[2:]] == [(0,), (2, 0), (0, 2)]
    halves, bits = COPIERS[form]([b, b.view(minigrad.int16)], tmp_path)
    bits[1] = 0x4000
    assert halves.tolist() == [0, 2, 2, 3, 4, 5]


def test_a_state_dict_of_views_loads_in_the_other_library(tmp_path: Path) -> None:
    """Ours has views where PyTorch has them, and the values are the same."""
    x = minigrad.arange(6.0)
    save({"a": x[1:], "b": x[:3]}, tmp_path / "x.pt")
    state = torch.load(tmp_path / "x.pt", weights_only=True)
    state["b"][2] = 9
    assert state["a"].tolist() == [1, 9, 3, 4, 5]


def test_deep_copies_are_pytorchs() -> None:
    for library in (minigrad, torch):
        a = library.arange(6.0)
        first, part, again, turned = copy.deepcopy([a, a[2:4], a, a.view(2, 3).T])
        first[2] = 9
        assert part.tolist() == [9, 3] and again is first and turned.tolist() == [[0, 3], [1, 4], [9, 5]]
        assert a.tolist() == [0, 1, 2, 3, 4, 5]
        row = library.nn.Parameter(library.zeros(1000, 2)[0])
        assert copy.deepcopy(row).untyped_storage().nbytes() == 8  # without the memory around it


def test_views_that_reach_beyond_their_memory() -> None:
    cases: list[Any] = [(-1, [2], [1]), (0, [7], [1]), (5, [2], [1]), (0, [2], [-1])]
    for offset, size, stride in [*cases, (0, [2], [6]), (0, [2, 2], [1]), (0, [2**62], [0])]:
        with pytest.raises(ValueError, match=r"a tensor|a shape"):
            view(np.zeros(6), offset, size, stride)
