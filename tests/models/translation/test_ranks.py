"""Training the translator on two ranks: ``train --ranks 2`` with a real mpiexec."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.training import read_checkpoint
from minigrad_models.translation import translation_command as translate_cli
from tests.support.ranks import ROOT, Ran, begun, finished, until

pytest.importorskip("mpi4py", reason="several ranks need mpi4py")
SIZES = "--layers 1 --d-model 16 --d-ff 24 --heads 2 --vocabulary 120 --batch-tokens 300 --accumulate 2 --warm-up 4"
OPTIONS = [*SIZES.split(), "--evaluate-every", "10", "--snapshot-every", "5", "--average", "2", "--dropout", "0.2"]
OPTIONS += ["--log-every", "1"]
LINES = [
    f"{who} {does} the {what}\t{wer} {tut} das {ding}"
    for who, wer in (("he", "er"), ("she", "sie"))
    for does, tut in (("sees", "sieht"), ("buys", "kauft"), ("hears", "hört"))
    for what, ding in (("book", "Buch"), ("house", "Haus"), ("child", "Kind"), ("dress", "Kleid"))
] * 20


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return file


def command(pairs: Path, run: str, ranks: int, steps: int = 20, *more: str) -> list[str]:
    words = ["-m", "minigrad", "train", "--data", str(pairs), "--run", str(pairs.parent / run), "--ranks", str(ranks)]
    return [sys.executable, *words, "--steps", str(steps), *OPTIONS, *more]


def ran(command: list[str], pairs: Path) -> Ran:
    result = finished(begun(command, pairs.parent), 120)
    assert result.status == 0, f"{result.out}\n{result.err}"
    return result


def losses(pairs: Path, run: str) -> list[float]:
    """The losses of the first updates."""
    lines = (pairs.parent / run / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [entry["loss"] for entry in map(json.loads, lines) if "loss" in entry][:20]


def weights(pairs: Path, run: str) -> dict[str, Any]:
    model = read_checkpoint(pairs.parent / run / "last.safetensors")["model"]
    return {name: value.numpy() for name, value in model.items()}


@pytest.mark.nightly
def test_two_ranks_train_like_one_and_resume_bitwise(pairs: Path) -> None:
    alone, together = (ran(command(pairs, name, n, 120), pairs) for name, n in (("alone", 1), ("together", 2)))
    assert together.out.count("sentence pairs") == alone.out.count("sentence pairs") == 1  # only rank 0 prints
    assert losses(pairs, "alone") == pytest.approx(losses(pairs, "together"), rel=1e-3)
    two = weights(pairs, "together")
    process = begun(command(pairs, "stopped", 2, 120), pairs.parent)
    log = pairs.parent / "stopped" / "log.jsonl"
    until(lambda: log.exists() and log.read_text().count("\n") > 1, "updates")
    process.send_signal(signal.SIGINT)
    stopped = finished(process, 120)
    assert stopped.status == 130, stopped.err
    assert "To resume, run the same command" in stopped.out
    ran(command(pairs, "stopped", 2, 120), pairs)
    again = weights(pairs, "stopped")
    assert all(two[name].tobytes() == again[name].tobytes() for name in two)
    fresh = ran(command(pairs, "stopped", 2, 12, "--fresh"), pairs)
    assert "the earlier run is now in" in fresh.err and (pairs.parent / "stopped.old-1").is_dir()


@pytest.mark.nightly
def test_a_failing_rank_is_reported_in_one_line(pairs: Path) -> None:
    result = finished(begun(command(pairs, "run", 2, 20, "--warm-up", "50", "--schedule", "cosine"), pairs.parent), 120)
    assert result.status == 1
    assert result.err.count("error: --warm-up (50)") == 1 and "Traceback" not in result.err


def test_without_mpi4py_one_rank_does_all_the_work(pairs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("minigrad.distributed.mpi.is_available", lambda: False)
    from minigrad_models.commands import minigrad_command as cli

    assert cli.main(command(pairs, "run", 2, 5)[3:]) == 0
    assert "note: 2 ranks need mpi4py, so one process does all the work" in capsys.readouterr().err
    assert Path("runs") / "toy" == translate_cli.DEFAULT_RUN and (ROOT / "minigrad").is_dir()
