"""The language model commands: training, resuming, starting from another model, generating; and wrong input."""

import copy
import json
import math
import os
import re
import signal
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad_models.generation import beam_search as generate
from minigrad_models.gpt import gpt_command as cli, gpt_run as run
from minigrad_models.gpt.gpt2 import GPT2
from minigrad_models.gpt.gpt_run import ARCHITECTURES, build, evaluate
from minigrad_models.gpt.gpt_settings import MODELS, ModelSettings, Settings
from minigrad_models.gpt.text import ROWS, score_segments
from minigrad_models.training import read_checkpoint
from tests.support.runs import evaluated, same, weights

for extra in ("tqdm", "tokenizers"):
    pytest.importorskip(extra)
DATA = Path(os.environ["MINIGRAD_DATA"])
SHAKESPEARE = DATA / "tinyshakespeare" / "input.txt"
SMALL = ("--layers", "1", "--d-model", "16", "--heads", "2", "--context", "12", "--batch", "4", "--warm-up", "3")
SMALL += ("--evaluate-every", "10", "--sample", "8")
LINES = "".join(f"the {a} sees the {b}.\n" for a in ("cat", "dog", "fox") for b in ("moon", "sun", "sea")) * 12
Refused = Callable[..., None]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_bytes(LINES.encode())
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of twenty updates."""
    folder = tmp_path_factory.mktemp("gpt")
    (folder / "lines.txt").write_bytes(LINES.encode())
    command = ["train", "--input", str(folder / "lines.txt"), "--run", str(folder / "run"), *SMALL, "--steps", "20"]
    assert cli.main(command) == 0
    return folder / "run"


def arguments(text: Path, *more: str, steps: int = 20) -> list[str]:
    return ["train", "--input", str(text), "--run", str(text.parent / "run"), *SMALL, "--steps", str(steps), *more]


@pytest.mark.parametrize(
    "kind", ["characters", *(pytest.param(k, marks=pytest.mark.nightly) for k in ("bytes", "subwords"))]
)
def test_it_trains_and_shows_samples(text: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments(text, "--tokenizer", kind, "--vocabulary", "270")) == 0
    output = capsys.readouterr()
    assert f"{kind} for training" in output.out and "bits per character" in output.out
    losses = evaluated(text.parent / "run")
    assert len(losses) == 2 and losses[-1] < losses[0]
    assert output.err.count("bits_per_character") == 2
    assert output.out.count("\n\n") >= 2, "a text at each evaluation"
    assert cli.main(["generate", "--run", str(text.parent / "run"), "--prompt", "the cat", "--tokens", "9"]) == 0
    assert capsys.readouterr().out.startswith("the cat")
    assert cli.main(["evaluate", "--run", str(text.parent / "run")]) == 0
    numbers = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert float(numbers["bits per character"]) > 0 and numbers["characters"] == str(len(LINES) - int(0.9 * len(LINES)))


NOISE = ("--dropout", "0.2", "--optimizer", "muon", "--ema", "0.9", "--accumulate", "2")
SUBWORDS = ("--tokenizer", "subwords", "--vocabulary", "280", "--average", "2", "--snapshot-every", "5")


@pytest.mark.nightly
@pytest.mark.parametrize("options", [NOISE, SUBWORDS])
def test_the_same_command_resumes(
    text: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After Ctrl-C in the middle of an update, the same command produces a bitwise identical result."""
    folder = text.parent / "run"
    assert cli.main(arguments(text, *options)) == 0
    whole, model = weights(folder), weights(folder, "model.safetensors")
    loss, calls = GPT2.loss, [0]

    def interrupted(self: GPT2, *args: Any, **kwargs: Any) -> mg.Tensor:
        calls[0] += self.training
        if calls[0] == 13 and self.training:
            signal.raise_signal(signal.SIGINT)
        return loss(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(GPT2, "loss", interrupted)
        assert cli.main(arguments(text, *options, "--fresh")) == 130
    assert "To resume, run the same command:\n  minigrad" in capsys.readouterr().out
    assert 0 < read_checkpoint(folder / "last.safetensors")["step"] < 20
    assert cli.main(arguments(text, *options, "--sample", "0")) == 0  # samples change nothing
    assert same(whole, weights(folder)) and same(model, weights(folder, "model.safetensors"))


def test_a_run_of_other_settings_or_another_text(text: Path, refused: Refused) -> None:
    assert cli.main(arguments(text, steps=5)) == 0
    refused(arguments(text, "--dropout", "0.1", steps=5), "dropout .0.0 there, 0.1 now.*--fresh")
    text.write_bytes(LINES[:-1].encode())
    refused(arguments(text, steps=5), "the text")
    assert cli.main(arguments(text, "--fresh", steps=5)) == 0
    assert (text.parent / "run.old-1" / "model.safetensors").exists()


def test_a_finished_run_trains_longer_and_answers_at_once(
    text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing options are taken from the run; with a preset, so is the number of updates."""
    folder = text.parent / "run"
    preset = ["train", "--preset", "sentences", "--input", str(text), "--run", str(folder), *SMALL]
    assert cli.main([*preset, "--steps", "12"]) == 0
    assert cli.main(["train", "--run", str(folder), "--steps", "15"]) == 0
    output = capsys.readouterr()
    assert f"{folder} resumes from step 12 of 15 (previously 12); its learning rate " in output.err
    report = output.out[output.out.rindex("full validation:") :]
    monkeypatch.setattr(run, "model_of", None)
    for command in (preset, ["train", "--run", str(folder)]):
        assert cli.main(command) == 0
        output = capsys.readouterr()
        assert output.out == f"saved to {folder / 'model.safetensors'}, after 15 updates\n{report}"
        assert "holds a finished run" in output.err


def test_it_starts_from_a_run(trained: Path, text: Path, refused: Refused) -> None:
    """The sizes and characters are the first run's; updates at a rate of 0 keep its weights."""
    text.write_bytes(LINES[:900].encode())
    command = ["train", "--input", str(text), "--from", str(trained), "--run", str(text.parent / "run")]
    options = ["--learning-rate", "0", "--final-rate", "0", "--dropout", "0.2", "--warm-up", "1", "--steps", "2"]
    assert cli.main([*command, *options]) == 0
    assert same(weights(text.parent / "run"), weights(trained, "model.safetensors"))
    config = tomllib.loads((text.parent / "run" / "settings.toml").read_text(encoding="utf-8"))
    assert config["model"]["d_model"] == 16 and config["model"]["context"] == 12
    model = run.load(text.parent / "run").model
    assert (model.config.dropout, model.config.attention_dropout) == (0.2, 0.2)
    fresh = [*command, "--fresh"]
    refused([*fresh, "--layers", "3"], "--layers 3, but the model in .* has 1")
    refused([*fresh, "--tokenizer", "bytes"], "--tokenizer bytes, but the model in .* has characters")
    refused([*command, "--layers", "3"], "a different configuration: layers")
    text.write_text("Ω" * 200, encoding="utf-8")
    refused([*command, "--fresh"], "never seen 'Ω'")


def test_it_starts_from_a_folder_of_transformers(trained: Path, text: Path, refused: Refused) -> None:
    folder = text.parent / "exported"
    assert cli.main(["export", str(folder), "--run", str(trained)]) == 0
    assert {path.name for path in folder.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}
    one, two = run.load(trained), run.load(folder)
    assert run.sizes(folder) == run.sizes(trained) and two.settings is None
    assert same(one.model.state_dict(), two.model.state_dict())
    np.testing.assert_array_equal(one.tokens.encode(LINES), two.tokens.encode(LINES))
    command = ["train", "--input", str(text), "--from", str(folder), "--run", str(text.parent / "run")]
    assert cli.main([*command, "--steps", "3", "--warm-up", "1"]) == 0
    refused(["evaluate", "--run", str(folder)], "give --input FILE")
    assert cli.main(["evaluate", "--run", str(folder), "--input", str(text)]) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["characters", "subwords"])
def test_transformers_reads_exported_models(text: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    assert cli.main(arguments(text, "--tokenizer", kind, "--vocabulary", "280", steps=5)) == 0
    folder = text.parent / "exported"
    assert cli.main(["export", str(folder), "--run", str(text.parent / "run")]) == 0
    ours = run.load(text.parent / "run")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    ids = ours.tokens.encode("the cat sees\nthe sun.")
    assert tokenizer("the cat sees\nthe sun.")["input_ids"] == ids.tolist()
    assert tokenizer.decode(ids.tolist()) == "the cat sees\nthe sun."
    ids = ids[:12].astype(np.int64)
    with torch.no_grad():
        logits = theirs(torch.from_numpy(ids)[None]).logits[0].numpy()
    np.testing.assert_allclose(ours.model(mg.from_numpy(ids)[None])[0].detach().numpy(), logits, atol=1e-5)


def text_of(trained: Path, *options: str) -> list[str]:
    return ["generate", "--run", str(trained), "--tokens", "30", *options]


def test_a_seed_repeats_a_text(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        assert cli.main(text_of(trained, "--prompt", "the", "--seed", seed, "--top-k", "9", "--top-p", "0.9")) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    assert all(len(text) == len("the") + 30 + 1 for text in texts)
    assert cli.main(text_of(trained, "--prompt", "the cat sees the moon.", "--num-beams", "3")) == 0
    message = capsys.readouterr()
    assert message.out.startswith("the cat sees the moon.")
    assert "note: a prompt has 22 tokens, but the model sees only the last 12" in message.err


def test_it_prints_at_once(trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the model generates a token, all earlier tokens are on the terminal."""
    lengths: list[int] = []
    multinomial = generate.multinomial

    def observed(*args: Any) -> mg.Tensor:
        lengths.append(len(capsys.readouterr().out))
        return multinomial(*args)

    monkeypatch.setattr(generate, "multinomial", observed)
    assert cli.main(text_of(trained, "--prompt", "the")) == 0
    assert lengths == [3, *[1] * 29]


def test_invalid_options_of_generate(trained: Path, refused: Refused) -> None:
    for options, message in (
        (("--prompt", ""), "the prompt is empty"),
        (("--prompt", "the Ω"), "never seen 'Ω': its vocabulary has only the .* characters"),
        (("--num-beams", "2", "--top-k", "3"), "--top-k is for sampling"),
        (("--temperature", "0", "--top-p", "0.5"), "--top-p is for sampling"),
        (("--top-p", "2"), "top_p must be above 0 and at most 1"),
        (("--stride", "13"), "stride must be between 1 and the model's context"),
    ):
        refused(text_of(trained, *options), message)
    for option in (("--temperature", "-1"), ("--tokens", "0"), ("--repetition-penalty", "nan")):
        refused(text_of(trained, *option), "number", 2)


def test_more_of_the_text_before_a_token(trained: Path, tmp_path: Path, refused: Refused) -> None:
    numbers = []
    for stride in ("12", "1"):
        where = ["--json", str(tmp_path / "numbers.json")]
        assert cli.main(["evaluate", "--run", str(trained), "--stride", stride, *where]) == 0
        numbers.append(json.loads((tmp_path / "numbers.json").read_text()))
    assert numbers[0]["tokens"] == numbers[1]["tokens"] and numbers[0]["loss"] != numbers[1]["loss"]
    refused(["evaluate", "--run", str(trained), "--window", "13"], "--window 13 is more than the 12 tokens that")
    refused(["evaluate", "--run", str(trained), "--stride", "13"], "--stride 13 is more than the window")
    (tmp_path / "a").write_text("t")
    refused(["evaluate", "--run", str(trained), "--input", str(tmp_path / "a")], "has 1 tokens")


def test_a_text_that_is_too_short_leaves_no_run(text: Path, refused: Refused) -> None:
    text.write_bytes(b"the cat sees")
    refused(arguments(text), "10 tokens for training, but a window needs 13: use a longer text")
    assert not (text.parent / "run").exists()


def test_invalid_sizes(text: Path, refused: Refused) -> None:
    refused(arguments(text, "--heads", "3"), "must be a multiple of heads")
    refused(arguments(text, "--window", "13"), "window .13. must not exceed context")
    refused(arguments(text, "--d-model", "10000000"), "GiB to train")
    refused(arguments(text, "--warm-up", "99"), "--warm-up .99. must be less than --steps")
    refused(arguments(text, "--final-rate", "1"), "must not exceed learning_rate")
    refused(arguments(text, "--preset", "huge"), "unknown preset 'huge'; choose from sentences, shakespeare")


def test_no_model(tmp_path: Path, refused: Refused) -> None:
    refused(text_of(tmp_path), "there is no model in .* minigrad gpt train")
    refused(["train", "--from", str(tmp_path / "none")], "there is no model in")


def test_a_checkpoint_of_another_program(trained: Path, text: Path, refused: Refused) -> None:
    content = read_checkpoint(trained / "model.safetensors")
    content["extra"]["program"] = "minigrad_models.translation"
    mg.save(content, text.parent / "model.safetensors")
    refused(text_of(text.parent), "is a checkpoint, but not of minigrad_models.gpt")
    refused(["train", "--from", str(text.parent)], "but not of minigrad_models.gpt")
    mg.save({"model": {}}, text.parent / "model.safetensors")
    refused(text_of(text.parent), "is not a checkpoint of minigrad.training")
    (text.parent / "model.safetensors").write_bytes(b"x" * 99)
    refused(text_of(text.parent), "is damaged")


Change = Callable[[dict[str, Any]], Any]
HOSTILE: dict[str, Change] = {
    "a huge vocabulary": lambda c: c["extra"]["model"].update(vocabulary=10**9),
    "a huge context": lambda c: c["extra"]["model"].update(positions=10**9),
    "a width of nothing": lambda c: c["extra"]["model"].update(d_model=0),
    "a wide layer": lambda c: c["extra"]["model"].update(d_ff=10**9),
    "other heads": lambda c: c["extra"]["model"].update(heads=3),
    "a size of no sort": lambda c: c["extra"]["model"].update(layers="two"),
    "an unknown size": lambda c: c["extra"]["model"].update(rooms=2),
    "an activation": lambda c: c["extra"]["model"].update(activation="none"),
    "no tokenizer": lambda c: c["extra"].update(tokenizer={}),
    "another tokenizer": lambda c: c["extra"].update(tokenizer={"kind": "bytes"}),
    "another architecture": lambda c: c["extra"]["settings"]["model"].update(model="gpt3"),
    "a weight less": lambda c: c["model"].pop("norm.bias"),
    "a weight of text": lambda c: c["model"].update({"norm.bias": "x"}),
}


def test_inconsistent_checkpoints(trained: Path, tmp_path: Path, refused: Refused) -> None:
    sound = read_checkpoint(trained / "model.safetensors")
    for name, change in HOSTILE.items():
        content = copy.deepcopy(sound)
        change(content)
        path = tmp_path / f"{name}.safetensors"
        mg.save(content, path)
        refused(text_of(path), re.escape(str(path)))


def test_presets_have_every_setting_written_out() -> None:
    for name in Settings.preset_names():
        preset = tomllib.loads((Settings.PRESETS / f"{name}.toml").read_text(encoding="utf-8"))
        assert Settings.preset(name).as_dict() == preset, name
        assert {key for values in preset.values() for key in values} == set(Settings.fields()), name


def settings_for(*options: str) -> Settings:
    return cli.settings_of(cli.parser().parse_args(["train", *options]))


def test_every_setting_is_an_option() -> None:
    for name, (section, kind, field) in Settings.fields().items():
        if name == "start":
            continue
        default = getattr(getattr(Settings.preset("shakespeare-cpu"), section), name)
        choices = field.metadata["choices"] or ("x",)
        value = {int: 32, float: 0.00025, str: choices[-1], bool: not default}[kind]
        option = "--" + name.replace("_", "-")
        besides = ["--model", "transformer-xl"] if name == "memory" else []
        settings = settings_for(option, *([] if kind is bool else [str(value)]), *besides)
        assert getattr(getattr(settings, section), name) == value, name


def test_every_setting_of_a_model_reaches_it() -> None:
    assert set(ARCHITECTURES) == set(MODELS)
    for name in MODELS:
        sizes = ModelSettings(name, layers=3, heads=2, d_model=24, d_ff=40, context=50, memory=20, dropout=0.25)
        model = build(sizes, 70)
        assert model.config.vocabulary == 70
        names = ARCHITECTURES[name].names
        assert all(getattr(model.config, theirs) == getattr(sizes, key) for key, theirs in names.items())
        assert {"layers", "heads", "d_model", "d_ff", "context"} <= set(names)
        dropouts = [m.p for m in model.modules() if isinstance(m, mg.nn.Dropout)]
        assert 0.25 in dropouts and model.config.attention_dropout == 0.25


def test_runs_have_names() -> None:
    def folder(*options: str) -> str:
        namespace = cli.parser().parse_args(["train", *options])
        return cli.run_folder(namespace, cli.settings_of(namespace)).as_posix()

    assert folder() == f"runs/{cli.PRESET}" == cli.DEFAULT_RUN.as_posix()
    assert folder("--preset", "sentences") == "runs/sentences"
    assert folder("--preset", "shakespeare") == "runs/shakespeare"
    assert folder("--preset", "shakespeare-cpu", "--input", "books/emma.txt") == "runs/shakespeare-cpu-emma"
    assert folder("--run", "here") == "here"


def test_a_configuration_is_a_file_for_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--preset", "shakespeare", "--layers", "5"]) == 0
    (tmp_path / "my.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert settings_for("--config", str(tmp_path / "my.toml")) == Settings.preset("shakespeare").changed({"layers": 5})


@pytest.mark.nightly
@pytest.mark.skipif(not SHAKESPEARE.is_file(), reason="no tinyshakespeare: set MINIGRAD_DATA to its parent")
def test_the_loss_on_shakespeare_matches_nanogpts_readme(tmp_path: Path) -> None:
    assert cli.main(["train", "--input", str(SHAKESPEARE), "--run", str(tmp_path / "run"), "--sample", "0"]) == 0
    numbers = evaluate(tmp_path / "run")
    assert numbers["loss"] <= 1.88
    assert numbers["bits_per_character"] == pytest.approx(numbers["loss"] / 0.6931472)
    assert evaluate(tmp_path / "run", stride=16)["loss"] < numbers["loss"] - 0.02  # each follows at least 48 tokens


SIZES = ("--layers", "1", "--d-model", "16", "--heads", "2", "--context", "8", "--batch", "4", "--warm-up", "3")
SIZES += ("--evaluate-every", "10", "--sample", "8")


def train(text: Path, *more: str) -> int:
    command = ["train", "--model", "transformer-xl", "--input", str(text), "--run", str(text.parent / "run")]
    return cli.main([*command, *SIZES, "--steps", "20", *more])


def test_transformer_xl_trains_and_writes(text: Path, refused: Refused, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(text, "--memory", "12", "--dropout", "0.1") == 0
    folder = str(text.parent / "run")
    assert read_checkpoint(text.parent / "run/last.safetensors")["carried"]["memory"].shape == (1, 4, 12, 16)
    losses = evaluated(text.parent / "run")
    assert losses[-1] < losses[0] < 1.1 * math.log(25)
    capsys.readouterr()
    for options in ((), ("--window", "32", "--stride", "8"), ("--window", "8", "--stride", "8")):
        assert cli.main(["evaluate", "--run", folder, *options]) == 0
    scores = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith("loss")]
    assert len(set(scores)) == 3
    assert cli.main(["generate", "--run", folder, "--prompt", "the cat sees the moon.", "--tokens", "9"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("the cat sees the moon.") and "note" not in output.err
    refused(["generate", "--run", folder, "--stride", "4"], "this model has a memory instead")
    refused(["export", folder, "--run", folder], "transformers has no transformer-xl")


def test_settings_that_do_not_fit(text: Path, refused: Refused) -> None:
    command = ["train", "--input", str(text), "--run", str(text.parent / "run"), *SIZES, "--steps", "9"]
    refused([*command, "--memory", "8"], "memory is 8, but only transformer-xl has a memory")
    recurrent = [*command, "--model", "transformer-xl"]
    refused([*recurrent, "--ranks", "2", "--accumulate", "2"], "each update passes its memory to the next")
    refused([*recurrent, "--batch", "500"], "is too short for 500 rows of 8 tokens: use a longer text")


@pytest.mark.parametrize(("window", "stride", "most"), [(8, 0, 0), (20, 5, 100)])
def test_each_token_counts_once_after_the_memory(window: int, stride: int, most: int) -> None:
    """Computed from the logits, one row at a time."""
    mg.manual_seed(0)
    model = build(ModelSettings("transformer-xl", 2, 2, 16, context=8, memory=11), 9).double().eval()
    ids = np.random.default_rng(0).integers(0, 9, 203).astype(np.uint16)
    length, reach = (stride, window - stride) if stride else (window, 11)
    count = most or 202
    rows = min(ROWS, -(-count // length))
    losses: list[mg.Tensor] = []
    with mg.no_grad():
        for first in range(0, count, width := -(-count // rows)):
            row, memory = mg.tensor(ids[first : min(first + width, count) + 1].astype(np.int64))[None], None
            for begin in range(0, row.shape[1] - 1, length):
                tokens = row[:, begin : min(begin + length, row.shape[1] - 1)]
                targets = row[0, begin + 1 : begin + 1 + tokens.shape[1]]
                logits, memory = model.read(tokens, memory, reach)
                losses.append(F.cross_entropy(logits[0], targets, reduction="none"))
    expected = mg.cat(losses)
    read: list[int] = []
    assert len(expected) == count
    score = score_segments(model, ids, window, stride, most=most, progress=read.append)
    assert sum(read) == count and math.isclose(score, float(expected.mean()), rel_tol=1e-10)
