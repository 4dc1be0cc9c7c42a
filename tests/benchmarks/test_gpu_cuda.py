"""The lines of ``benchmarks.gpu`` that call CUDA, with libraries that note how they are called."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.gpu import runner
from benchmarks.gpu.capture import Captured
from benchmarks.gpu.place import Place


class Cupy:
    """A fake ``cupy`` that notes calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.cuda: Any = SimpleNamespace(
            MemoryPool=lambda: SimpleNamespace(malloc="the pool's"),
            using_allocator=lambda malloc: self.inside(f"allocator: {malloc}"),
            Stream=self.stream,
            Device=lambda: SimpleNamespace(synchronize=self.note("device synchronize")),
        )

    def note(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self.calls.append(name)

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        self.calls.append(name)
        yield
        self.calls.append(f"end of {name}")

    def stream(self, non_blocking: bool) -> Any:
        cupy = self

        class Stream:
            synchronize = staticmethod(cupy.note("stream synchronize"))
            begin_capture = staticmethod(cupy.note("begin capture"))

            def end_capture(self) -> Any:
                cupy.calls.append("end capture")
                return SimpleNamespace(launch=lambda stream: cupy.calls.append(f"launch on {stream is self}"))

            def __enter__(self) -> None:
                cupy.calls.append("stream")

            def __exit__(self, *error: object) -> None:
                cupy.calls.append("end of stream")

        assert non_blocking
        return Stream()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Cupy:
    fake = Cupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(Place, "xp", lambda self: fake)
    return fake


BEFORE = ["device synchronize", "allocator: the pool's", "stream", "function", "stream synchronize", "begin capture"]
AFTER = ["end capture", "end of stream", "end of allocator: the pool's"]


def test_a_capture_has_a_stream_and_a_pool_of_its_own(cupy: Cupy) -> None:
    fake = Captured(cupy, cupy.note("function"))
    assert cupy.calls == [*BEFORE, "function", *AFTER]
    fake.launch()
    assert cupy.calls[-1] == "launch on True"


def test_a_capture_that_fails_is_ended(cupy: Cupy) -> None:
    def function() -> None:
        cupy.calls.append("function")
        if cupy.calls.count("function") == 2:
            raise NotImplementedError("cuBLAS")

    with pytest.raises(NotImplementedError, match="cuBLAS"):
        Captured(cupy, function)
    assert cupy.calls[: len(BEFORE) + 2] == [*BEFORE, "function", "end capture"]


def test_each_end_of_a_test_is_written_once(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        "def test_fails(): assert 1 == 2\n"
        "def test_skips(): pytest.skip('no')\n"
        "@pytest.fixture\n"
        "def broken(): raise ValueError('broken')\n"
        "def test_does_not_begin(broken): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.gpu.pytest_rows", "-n", "2", str(tmp_path)]
    rows = tmp_path / "rows"
    variables = {**os.environ, "MINIGRAD_TESTS": str(rows), "PYTHONPATH": str(runner.ROOT)}
    subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=False)
    lines = map(json.loads, rows.read_text().splitlines())
    ends = sorted((row["test"].partition("::")[2], row["end"]) for row in lines)
    bad = [("test_does_not_begin", "failed"), ("test_fails", "failed")]
    assert ends == [*bad, ("test_passes", "passed"), ("test_skips", "skipped")]
