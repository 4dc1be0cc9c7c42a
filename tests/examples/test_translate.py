"""The translator as a person runs it: training, Ctrl-C, going on, translating, and what can be wrong."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from examples.translate import checkpoint, cli
from models.transformer import Transformer

ROOT = Path(__file__).parents[2]
WORDS = {
    "one": "uno",
    "two": "due",
    "three": "tre",
    "four": "quattro",
    "cat": "gatto",
    "dog": "cane",
    "and": "e",
}


@pytest.fixture(autouse=True)
def _needs_extras() -> None:
    pytest.importorskip("tqdm")
    pytest.importorskip("tokenizers")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A corpus of two hundred pairs, word for word."""
    words, lines = list(WORDS), []
    for i in range(200):
        picked = [words[(i * k + k) % len(words)] for k in range(1, 2 + i % 4)]
        lines.append(" ".join(picked) + "\t" + " ".join(WORDS[w] for w in picked))
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def arguments(table: Path, *more: str) -> list[str]:
    return ["--data", str(table), "--checkpoint", str(table.parent / "model.safetensors"), "--subwords", "80",
            "--batch-tokens", "100", *more]  # fmt: skip


def weights(table: Path) -> dict[str, mg.Tensor]:
    model, _, _ = checkpoint.load(table.parent / "model.safetensors", "cpu")
    return model.state_dict()


def test_it_trains_saves_and_translates(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(arguments(table, "--steps", "5")) == 0
    told = capsys.readouterr()
    assert "200 sentence pairs" in told.out and "saved to" in told.out
    assert re.search(r"loss \d+\.\d+.*tokens/s.*left", told.err)
    assert (
        cli.main(["one cat", "Xyz", "--checkpoint", str(table.parent / "model.safetensors"), "--beam", "2"])
        == 0
    )
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 2
    assert "never seen: X" in told.err


def test_the_same_seed_gives_the_same_weights(table: Path) -> None:
    found = []
    for seed in ("3", "3", "4"):
        assert cli.main(arguments(table, "--steps", "3", "--seed", seed)) == 0
        found.append(weights(table))
    assert all(mg.equal(found[0][k], found[1][k]) for k in found[0])
    assert not all(mg.equal(found[0][k], found[2][k]) for k in found[0])


def test_going_on_ends_where_a_whole_training_ends(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of update 17 of 30 (in the second epoch), resumed: the same weights to the bit."""
    assert cli.main(arguments(table, "--steps", "30")) == 0
    whole = weights(table)
    loss = Transformer.loss

    def interrupted(self: Transformer, *args: Any) -> mg.Tensor:
        calls.append(1)
        if len(calls) == 17:
            signal.raise_signal(signal.SIGINT)
        return loss(self, *args)

    calls: list[int] = []
    monkeypatch.setattr(Transformer, "loss", interrupted)
    assert cli.main(arguments(table, "--steps", "30")) == 130
    assert checkpoint.load(table.parent / "model.safetensors", "cpu")[2]["step"] == 17
    assert cli.main(arguments(table, "--steps", "30", "--resume")) == 0
    assert len(calls) == 30
    assert all(mg.equal(whole[k], v) for k, v in weights(table).items())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to another process")
def test_ctrl_c_saves_and_says_how_to_go_on(table: Path) -> None:
    command = [sys.executable, "-m", "examples.translate", *arguments(table, "--steps", "100000")]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while process.stderr.read(1) not in ("%", ""):  # the bar has begun: updates are being made
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "saved to" in out and "examples.translate --data" in out and out.rstrip().endswith("--resume")
    stopped = re.search(r"stopped at step ([\d,]+);", out)
    assert stopped
    step = checkpoint.load(table.parent / "model.safetensors", "cpu")[2]["step"]
    assert step == int(stopped[1].replace(",", ""))


def test_a_loss_that_is_not_a_number_stops_and_harms_nothing(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments(table, "--steps", "2")) == 0
    before = (table.parent / "model.safetensors").read_bytes()
    assert cli.main(arguments(table, "--steps", "60", "--learning-rate", "1e30")) == 1
    assert re.search(
        r"error: the loss is (nan|inf) at step \d+. Try a lower --learning-rate", capsys.readouterr().err
    )
    assert (table.parent / "model.safetensors").read_bytes() == before


def test_bad_sentences(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments(table, "--steps", "2")) == 0
    model = ["--checkpoint", str(table.parent / "model.safetensors")]
    assert cli.main([" ", *model]) == 1
    assert "the sentence is empty" in capsys.readouterr().err
    assert cli.main(["one " * 3000, *model]) == 1
    assert re.search(
        r"the sentence has \d+ tokens, the model reads at most 1024; split it", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no checkpoint"),
        (b"", "model.safetensors"),
        (b"\x00" * 100, "model.safetensors"),
        (b"PK\x03\x04 something else", "model.safetensors"),
    ],
)
def test_bad_checkpoints(
    tmp_path: Path, content: bytes | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    assert cli.main(["a sentence", "--checkpoint", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ") and told in err and "Traceback" not in err


def test_a_truncated_and_a_foreign_checkpoint(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments(table, "--steps", "2")) == 0
    path = table.parent / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert cli.main(["one cat", "--checkpoint", str(path)]) == 1
    assert "model.safetensors" in capsys.readouterr().err
    mg.save({"weight": mg.zeros(2)}, path)
    assert cli.main(["one cat", "--checkpoint", str(path)]) == 1
    assert "is not a checkpoint of examples.translate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "no sentence pairs"), ("no tab here\n", "line 1: no tab"), ("a\t\n", "no sentence pairs")],
)
def test_bad_corpora(tmp_path: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.tsv").write_text(text)
    assert cli.main(arguments(tmp_path / "c.tsv")) == 1
    assert told in capsys.readouterr().err
    assert cli.main(arguments(tmp_path / "missing.tsv")) == 1
    assert "there is no" in capsys.readouterr().err


def test_options(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    told = capsys.readouterr().out
    assert all(
        option in told for option in ("--device", "--seed", "--data", "--resume", "--beam", "I like cats")
    )
    with pytest.raises(SystemExit):
        cli.main(["--steps", "0"])
    assert cli.main(arguments(table, "--device", "gpu")) == 1
    assert "'gpu' is not a device" in capsys.readouterr().err


def test_a_checkpoint_that_cannot_be_written(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = table.parent / "file"
    blocked.write_text("in the way")
    args = arguments(table, "--steps", "2")
    args[args.index("--checkpoint") + 1] = str(blocked / "model.safetensors")
    assert cli.main(args) == 1
    assert str(blocked) in capsys.readouterr().err


@pytest.mark.slow
def test_the_default_training_translates_sentences_it_never_saw(tmp_path: Path) -> None:
    """The README's first command, whole: 98 of 100 unseen test sentences exactly, and the issue's own."""
    path = str(tmp_path / "model.safetensors")
    command = [sys.executable, "-m", "examples.translate", "--checkpoint", path]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = re.search(r"test: ([\d,]+) of 1,000 translated exactly", ran.stdout)
    assert found and int(found[1].replace(",", "")) >= 980, ran.stdout
    wanted = {
        "I like cats": "Mi piacciono i gatti.",
        "I love you very much": "Ti amo molto.",
        "My friends like tomatoes because they are tasty": (
            "Ai miei amici piacciono i pomodori perché sono gustosi."
        ),
    }
    ran = subprocess.run([*command, *wanted], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == list(wanted.values())
    assert math.isfinite(checkpoint.load(Path(path), "cpu")[2]["seconds"])
