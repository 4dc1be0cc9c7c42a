"""The table of variants: training runs and their options, finished runs, and interruptions."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples import variants
from examples.ablations import chosen, main, read_variants, settings_of
from examples.variants import as_options
from minigrad_models.translation.translation_settings import preset

VARIANTS = """
["as it is"]

["dropout 0.1"]
dropout = 0.1

["two | vocabularies"]
joint = false
vocabulary = 60
"""


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """The options of a test: three variants, and a separate folder."""
    (tmp_path / "variants.toml").write_text(VARIANTS, encoding="utf-8")
    options = ["--variants", str(tmp_path / "variants.toml"), "--folder", str(tmp_path / "runs")]
    return [*options, "--preset", "multi30k", "--steps", "7"]


class Program:
    """A stub for minigrad_models.translation: it writes the same files, and records its arguments.

    Args:
        codes: the exit statuses of the next calls; later calls return 0.

    Attributes:
        ended: how many of train's files a call with a nonzero exit status still writes.
        splits: the splits of the data, which train evaluates.
    """

    def __init__(self, codes: list[int]) -> None:
        self.calls: list[list[str]] = []
        self.codes, self.ended, self.splits = codes, 0, ["validation", "test"]

    def __call__(self, arguments: list[str]) -> int:
        self.calls.append(arguments)
        where = Path(arguments[arguments.index("--run") + 1])
        assert arguments[0] == "train"
        code = self.codes.pop(0) if self.codes else 0
        bleu = {"value": 10.0 + len(where.name), "signature": "nrefs:1|bs:1000|seed:12345|tok:13a"}
        report = json.dumps({"bleu": bleu, "moses": None})
        where.joinpath("log.jsonl").write_text('{"step": 3, "seconds": 30.0}\n', encoding="utf-8")
        lines = [
            {"step": 500, "evaluation": {"bleu": 1.0, "loss": 2.5}, "seconds": 45.0},
            {"step": 1007, "evaluation": {"bleu": 2.0, "loss": 1.25}, "seconds": 90.0},
        ]
        files = {"log.jsonl": "".join(json.dumps(line) + "\n" for line in lines), "model.safetensors": ""}
        files |= {f"{split}.json": report for split in self.splits}
        for name in list(files)[: self.ended if code else None]:
            where.joinpath(name).write_text(files[name], encoding="utf-8")
        return code

    @property
    def runs(self) -> list[str]:
        return [f"{call[0]} {Path(call[call.index('--run') + 1]).name}" for call in self.calls]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    fake = Program([])
    monkeypatch.setattr(variants, "call", fake)
    return fake


ALL = [f"train {name}" for name in ("as-it-is", "dropout-0.1", "two-vocabularies")]


def test_each_variant_is_trained_and_measured_once(
    options: list[str], program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options, "--data", "DIR"]) == 0
    assert program.runs == ALL
    common = ["train", "--preset", "multi30k", "--steps", "7", "--data", "DIR"]
    more = {"as-it-is": [], "dropout-0.1": ["--dropout", "0.1"]}
    more["two-vocabularies"] = ["--no-joint", "--vocabulary", "60"]
    runs = [[*common, *options, "--run", str(tmp_path / "runs" / name)] for name, options in more.items()]
    assert program.calls == runs
    out = capsys.readouterr().out
    table = """\
| variant | updates | minutes | validation loss | validation BLEU | test BLEU |
|---|---:|---:|---:|---:|---:|
| as it is | 1,007 | 1.5 | 1.250 | 18.00 | 18.00 |
| dropout 0.1 | 1,007 | 1.5 | 1.250 | 21.00 | 21.00 |
| two \\| vocabularies | 1,007 | 1.5 | 1.250 | 26.00 | 26.00 |

BLEU: `nrefs:1|tok:13a`
"""
    assert out.startswith("3 runs, one after another.") and re.search(r"== 3 of 3: .* \(about 0:0\d left\)", out)
    assert out.endswith(table) and (tmp_path / "runs" / "ablations.md").read_text(encoding="utf-8") == table
    assert main([*options, "--data", "DIR"]) == 0
    assert program.runs == ALL


@pytest.mark.parametrize(("n", "ended"), [(0, 3), (1, 0), (1, 2), (2, 1)])
def test_an_interrupted_command_resumes(n: int, ended: int, options: list[str], program: Program) -> None:
    """After Ctrl-C in the n-th call, even during its evaluation, only that call is repeated."""
    program.codes, program.ended = [0] * n + [130], ended
    assert main(options) == 130
    assert main(options) == 0
    assert program.runs == [*ALL[: n + 1], *ALL[n:]]


def test_a_variant_that_fails_is_reported_and_retried(
    options: list[str], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    program.codes = [0, 1]
    assert main(options) == 1
    assert program.runs == ALL
    message = capsys.readouterr()
    assert "| dropout 0.1 (not finished) | 3 | 0.5 |  |  |  |" in message.out and "dropout 0.1 failed" in message.err
    assert main(options) == 0
    assert program.runs[3:] == ALL[1:2]


def test_an_error_of_all_variants_is_reported_once(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without data the first run fails immediately; with correct options the same folder can be used again."""
    assert main([*options, "--ranks", "1", "--warm-up", "3", "--data", "nowhere"]) == 1
    out, err = capfd.readouterr()
    assert err.splitlines() == [
        "error: nowhere does not exist",
        "error: a run failed: as it is (exit status 1). The others would fail too, so none was started",
    ]
    assert "1 of 3" in out and "2 of 3" not in out
    fake = Program([])
    monkeypatch.setattr(variants, "call", fake)
    assert main([*options, "--data", "elsewhere"]) == 0
    assert fake.runs == ALL


def test_data_without_a_test_set_is_reported_after_one_run(
    options: list[str], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    program.splits = ["validation"]
    assert main(options) == 1
    assert "no validation set or no test set" in capsys.readouterr().err and program.runs == ALL[:1]


def test_a_misspelled_option_is_an_error_before_any_training(
    options: list[str], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*options, "--stepz", "3"])
    assert stop.value.code == 2 and program.calls == []
    assert capsys.readouterr().err.endswith("--stepz 3; do you mean --steps?\n")


def test_a_stopped_training_names_the_users_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The variant's own training command would continue only that variant."""
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "examples.compare", "--folder", "my runs"])
    stop = "from minigrad_models.translation.translator import PROGRAM; print(PROGRAM.stopped('runs/gru'))"
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, env: popen([command[0], "-c", stop], env=env))
    assert variants.call(["train", "--layers", "1"]) == 0
    assert capfd.readouterr().out.endswith("same command:\n  python -m examples.compare --folder 'my runs'\n")


def test_a_folder_with_a_run_of_other_options_is_refused(
    options: list[str], program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old numbers are not reported as results of the new options, and nothing is trained before the check."""
    assert main([*options, "--only", "two | vocabularies"]) == 0
    capsys.readouterr()
    assert main([*options, "--seed", "3"]) == 1
    message = capsys.readouterr()
    assert "other options: --preset multi30k --steps 7 --no-joint" in message.err and message.out == ""
    assert program.runs == ALL[2:]


def test_variants_that_change_nothing_are_skipped() -> None:
    """If a preset has R-Drop, "no R-Drop" is a variant; if it does not, "R-Drop 5" is."""
    start = preset("multi30k").changed({"r_drop": 0.0})
    names = chosen(read_variants(), start)
    assert "the preset" in names and "R-Drop 5" in names and "no R-Drop" not in names
    names = chosen(read_variants(), start.changed({"r_drop": 5.0}))
    assert "no R-Drop" in names and "R-Drop 1" in names and "R-Drop 5" not in names
    assert settings_of(["--preset", "multi30k", "--r-drop", "5"]).training.r_drop == 5.0


def test_train_knows_the_options_of_each_variant() -> None:
    for name, settings in read_variants().items():
        read = settings_of(["--preset", "multi30k", *as_options(settings)])
        assert read == preset("multi30k").changed(settings), name


def test_refusals(options: list[str], program: Program, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, message in (
        (["--only", "x"], "unknown variant 'x'; choose from: 'as it is', 'dropout 0.1'"),
        (["--variants", "nowhere.toml"], "nowhere.toml"),
        (["--run", "runs/a"], "omit --run and --fresh"),
        (["--dropout", "7"], "dropout is 7"),
    ):
        assert main([*options, *arguments]) == 1
        assert message in capsys.readouterr().err and program.calls == []
    path = tmp_path / "wrong.toml"
    for text, message in (
        ("[", "is not TOML"),
        ("dropout = 0.1", "dropout is not a section"),
        ("[a]\ndrop_out = 0.1", "variant 'a': unknown setting 'drop_out'"),
        ("[a]\ndropout = 3.0", "dropout is 3.0"),
        ("['A b']\n['a-b']", "would share the folder a-b"),
    ):
        path.write_text(text, encoding="utf-8")
        assert main(["--variants", str(path), "--folder", str(tmp_path)]) == 1
        assert message in capsys.readouterr().err and program.calls == []


def test_the_program_runs_as_for_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs from any folder and returns the exit status."""
    monkeypatch.chdir(tmp_path)
    assert variants.call(["config", "--preset", "toy"]) == 0
    assert variants.call(["evaluate", "--run", "nowhere"]) == 1
