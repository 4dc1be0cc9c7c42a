"""Translators side by side: equal sizes, measurements, training runs, and errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples import variants
from examples.compare import __main__ as cli, measure
from examples.compare.sizes import KINDS, sized
from minigrad_models.text import Pairs, TokenizerPair, WordTokenizer
from minigrad_models.translation import translation_data as data, translator as run
from minigrad_models.translation.architectures import build
from minigrad_models.translation.translation_settings import preset

for extra in ("tqdm", "sacrebleu"):
    pytest.importorskip(extra)
WORDS = WordTokenizer.train([" ".join(f"w{i}" for i in range(300))])


@pytest.mark.nightly
@pytest.mark.parametrize("name", KINDS)
def test_models_have_equal_sizes(name: str) -> None:
    settings = preset("toy").changed({"layers": cli.LAYERS.get(name, 1)})
    new = settings.changed(sized(name, settings, 700_000, len(WORDS)))
    model = build(new.model, TokenizerPair(WORDS, WORDS))
    assert abs(sum(p.numel() for p in model.parameters()) - 700_000) < 0.04 * 700_000


def test_groups_are_by_length() -> None:
    sentences = ["a " * n for n in (3, 1, 2, 2, 9, 8, 7, 1)]
    groups = measure.groups(sentences)
    assert sorted(np.concatenate(groups).tolist()) == list(range(8))
    words = measure.lengths(sentences)
    assert [sorted(words[places].tolist()) for places in groups] == [[1, 1], [2, 2], [3, 7], [8, 9]]


class Program:
    """A stub for minigrad_models.translation: it writes an untrained model as a finished run.

    Attributes:
        calls: the options of each training run.
        code: the exit status; the run is written if it is 0.
    """

    def __init__(self, test: Pairs) -> None:
        self.test, self.code = test, 0
        self.calls: list[list[str]] = []

    def __call__(self, arguments: list[str]) -> int:
        self.calls.append(arguments)
        if self.code:
            return self.code
        options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        sizes = {"model": options["--model"], "hidden": 8, "layers": 1, "d_model": 8, "heads": 2, "d_ff": 8}
        settings = preset("toy").changed(sizes)
        tokenizers = data.tokenizers_for(self.test, settings.data)
        mg.manual_seed(0)
        model = build(settings.model, tokenizers)
        folder = Path(options["--run"])
        run.write_model(folder, model.state_dict(), 7, run.Translator(model, tokenizers, settings).described({}))
        (folder / "log.jsonl").write_text('{"step": 7, "seconds": 90.0}\n', encoding="utf-8")
        half = len(self.test.target) // 2 if "attention" in options["--model"] else 0
        translations = [*self.test.target[:half], *("" for _ in self.test.target[half:])]
        for split in variants.SPLITS:
            report = json.dumps({"translations": translations})
            (folder / f"{split}.json").write_text(report, encoding="utf-8")
        return 0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Program:
    words = [f"w{i}" for i in range(8)]
    test = Pairs([" ".join(words[: i % 8 + 1]) for i in range(16)], [" ".join(words[i % 8 :]) for i in range(16)])
    program = Program(test)
    monkeypatch.setattr(variants, "call", program)
    monkeypatch.setattr(data, "read", lambda settings: {"train": test, "validation": test, "test": test})
    return program


def arguments(tmp_path: Path, *more: str) -> list[str]:
    return ["--folder", str(tmp_path / "runs"), "--updates", "7", "--weights", "900000", *more]


def test_it_trains_new_models_and_compares(fake: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = arguments(tmp_path, "--models", "gru", "gru-attention", "--save", str(tmp_path / "pages"))
    assert cli.main(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "[ok] The GRU translates 0.0% of the longest sentences exactly without attention, and 50.0%" in out
    assert [call[call.index("--model") + 1] for call in fake.calls] == ["gru", "gru-attention"]
    assert all("--steps" in call and "7" in call for call in fake.calls)
    assert (tmp_path / "pages" / "compare.html").stat().st_size > 10_000
    assert "Exact translations by length" in (tmp_path / "pages" / "compare.svg").read_text()
    cli.main(command)
    assert len(fake.calls) == 2 and "50.0%" in capsys.readouterr().out


def test_the_default_is_quick(fake: Program, tmp_path: Path) -> None:
    for more, (models, updates, _) in (([], cli.QUICK), (["--full"], cli.FULL)):
        fake.calls.clear()
        assert cli.main(["--folder", str(tmp_path / str(updates)), *more]) == 0
        assert [call[call.index("--model") + 1] for call in fake.calls] == list(models)
        assert {call[call.index("--steps") + 1] for call in fake.calls} == {str(updates)}


def test_a_training_that_fails_or_stops(fake: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake.code = 1
    assert cli.main(arguments(tmp_path, "--models", "gru")) == 1
    assert "error: a run failed" in capsys.readouterr().err
    fake.code = 130
    assert cli.main(arguments(tmp_path, "--models", "gru")) == 130


def test_bad_options(refused: Callable[..., None]) -> None:
    for options, message in (
        (["--models", "perceptron"], "invalid choice: 'perceptron'"),
        (["--models", "tranformer"], "do you mean 'transformer'"),
        (["--update", "3", "--wieghts", "9"], "unrecognized arguments: --wieghts 9; do you mean --weights"),
        (["--updates", "0"], "expected a whole number of at least 1, not '0'"),
        (["--weights", "many"], "expected a whole number of at least 1, not 'many'"),
    ):
        refused(options, message, 2)


def test_times_are_per_token(fake: Program, tmp_path: Path) -> None:
    folder: Any = tmp_path / "run"
    folder.mkdir()
    fake(["train", "--model", "gru", "--run", str(folder)])
    result = measure.result(folder, fake.test)
    assert result.seconds > 0 and (result.updates, result.minutes, result.exact) == (7, 1.5, 0.0)
    assert measure.result(folder, fake.test) == result  # read again, not measured again
