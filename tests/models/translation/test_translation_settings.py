"""Settings: complete presets, valid and invalid files, the command line."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.commands.minigrad_command import parser
from minigrad_models.translation import translation_command as cli, translation_settings as settings
from minigrad_models.translation.own_pairs import suited
from minigrad_models.translation.translation_settings import FIELDS, FREE, PRESETS, Settings
from tests.support.cases import raises


def test_presets_have_every_setting_written_out() -> None:
    for name in settings.preset_names():
        document = tomllib.loads((PRESETS / f"{name}.toml").read_text(encoding="utf-8"))
        keys = {(section, key) for section, values in document.items() for key in values}
        assert keys == {(section, key) for key, (section, _, _) in FIELDS.items()}, name
        assert settings.preset(name).as_dict() == document


def test_the_base_model_matches_the_paper() -> None:
    base = settings.preset("base")
    assert (base.model.layers, base.model.d_model, base.model.d_ff, base.model.heads) == (6, 512, 2048, 8)
    assert (base.model.dropout, base.training.label_smoothing, base.model.norm_first) == (0.1, 0.1, False)
    # equation 3: the highest rate is d_model^-0.5 warm_up^-0.5
    assert base.training.learning_rate == pytest.approx((512 * base.training.warm_up) ** -0.5, rel=0.01)
    assert base.training.batch_tokens * base.training.accumulate == pytest.approx(25_000, rel=0.05)


def test_the_target_or_an_option_chooses_the_tokenizer_of_bleu() -> None:
    assert Settings().bleu_tokenizer == "13a"
    chinese = Settings().changed({"data": ("corpus",), "target": "zh-CN"})
    assert chinese.bleu_tokenizer == "zh" and chinese.changed({"bleu_tokenizer": "char"}).bleu_tokenizer == "char"
    assert Settings().changed({"target": "zh"}).bleu_tokenizer == "13a"  # the shipped corpus is Italian
    assert settings.languages(("a.en", "a.zh-CN.gz")) == {"source": "en", "target": "zh-CN"}


def test_written_files_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomlkit", None)  # only Python's library writes it
    numbers = {"dropout": 0.25, "learning_rate": 1e-05, "joint": False, "steps": 7}
    path = tmp_path / "my.toml"
    for name in ('a "b".en', "ü.de", "C:\\new\\tab", "two\nlines", "\x00\x1f\x7f", "\U0001f600", "# no"):
        changed = Settings().changed({"data": (name, ""), "source": name, **numbers})
        path.write_text(settings.as_toml(changed, "mine"), encoding="utf-8", newline="")
        assert settings.read(path) == changed
        assert "\nsteps = 7 # updates\n" in path.read_text(encoding="utf-8")


def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    rows = [
        ("[training]\nstepz = 3", r"no setting 'stepz'; do you mean 'steps' in \[training\]\?"),
        ("[model]\nsteps = 3", r"\[model\] has no setting 'steps'; do you mean 'steps' in \[training\]\?"),
        ("[traning]\nsteps = 3", r"unknown section \[traning\]; choose from data, model, training, decoding"),
        ("steps = 3", r"unknown section \[steps\]"),
        ("[model]\nlayers = 2.0", "layers is 2.0, but should be of type int"),
        ("[model]\nnorm_first = 1", "norm_first is 1, but should be of type bool"),
        ("[data]\ndata = 'a'", "data is 'a', but should be of type list of strings"),
        ("[data]\nvocabulary = 1000000000", r"vocabulary is 1000000000, but should be from 1 to 1e\+06"),
        ("[model]\ndropout = 1.5", "dropout is 1.5, but should be from 0 to 0.999999"),
        ("[model]\nd_model = 30", r"d_model \(30\) must be even and a multiple of heads"),
        ("[training]\nschedule = 'up'", "schedule is 'up', but should be one of: inverse_sqrt"),
        ("[data]\ntokenizer = 'words'\njoint = false", "needs tokenizer = 'subwords'"),
        ("[model", "is not TOML"),
        ("[training]\nlearning_rate = nan", "learning_rate is nan"),
    ]
    for text, message in rows:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message) as error:
            settings.read(path)
        assert str(path) in str(error.value)
    raises(
        ValueError, "unknown preset 'huge'; choose from base, multi30k, multi30k-gru", lambda: settings.preset("huge")
    )


def test_a_string_instead_of_a_list_is_refused() -> None:
    """Its letters would be treated as file names."""
    raises(ValueError, "data is 'a.tsv', .* list of strings", lambda: Settings.preset("toy").changed({"data": "a.tsv"}))


def test_numbers_have_limits_and_free_settings_may_change_when_resuming() -> None:
    numbers = [name for name, (_, kind, _) in Settings.fields().items() if kind in (int, float) and name != "seed"]
    assert len(numbers) > 30 and set(FIELDS) >= FREE
    for name in numbers:
        with pytest.raises(ValueError, match=rf"^{name} is 1000000000000000000, but should be from"):
            Settings().changed({name: 10**18})
    start = Settings()
    assert start.fixed() == start.changed({"device": "cuda", "minutes": 3.0, "beam": 2}).fixed()
    assert start.fixed() != start.changed({"dropout": 0.2}).fixed()


def given(*arguments: str) -> Settings:
    return cli.settings_of(parser().parse_args(["train", *arguments]))


def test_options_override_files_and_files_override_defaults(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[model]\nlayers = 3\nheads = 2\n", encoding="utf-8")
    changed = given("--config", str(path), "--layers", "5", "--no-norm-first")
    assert (changed.model.layers, changed.model.heads, changed.model.d_ff) == (5, 2, Settings().model.d_ff)
    assert not changed.model.norm_first
    assert given() == settings.preset("toy")
    assert given("--preset", "multi30k", "--steps", "9") == settings.preset("multi30k").changed({"steps": 9})


def test_small_corpora_have_suitable_settings(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{i}\tthe {i}\n" for i in range(200)), encoding="utf-8")
    fitted = given("--data", str(table), "--layers", "1")
    values = {"data": (str(table),), "source": "source", "target": "target", "layers": 1}
    options = parser().parse_args(["train", "--data", str(table)])
    assert cli.run_folder(options, fitted).as_posix() == "runs/pairs"
    assert fitted == suited(values) and fitted.training.steps < Settings().training.steps
    raises(FileNotFoundError, "does not exist", lambda: given("--data", str(tmp_path / "none.tsv")))


def test_every_setting_is_an_option(tmp_path: Path) -> None:
    (tmp_path / "defaults.toml").touch()
    values: dict[type, Any] = {int: 8, float: 0.25}
    for name, (section, kind, described) in FIELDS.items():
        if name in ("data", "start"):
            continue
        default = getattr(getattr(Settings().changed({"data": ("x",)}), section), name)
        choices = described.metadata["choices"] or ("x",)
        value = choices[-1] if kind is str else values.get(kind, not default)
        option = ("" if value else "no-") + name.replace("_", "-")
        values_given = [] if kind is bool else [str(value)]
        changed = given("--config", str(tmp_path / "defaults.toml"), f"--{option}", *values_given)
        assert getattr(getattr(changed, section), name) == value != default, name


def test_languages_of_files(tmp_path: Path) -> None:
    unnamed = [("a.tsv",), ("a.txt", "b.txt"), ("x/train", "x/train2")]
    rows = [(("a.en.gz", "b.fr"), ("en", "fr")), *((paths, ("source", "target")) for paths in unnamed)]
    for data, languages in rows:
        changed = given("--preset", "base", "--data", *data)
        assert (changed.data.source, changed.data.target) == languages
        assert given("--preset", "base", "--data", *data, "--target", "it").data.target == "it"
    assert given("--preset", "base", "--data", str(tmp_path)).data.source == "en"


def test_runs_have_names(tmp_path: Path) -> None:
    def folder(*arguments: str) -> str:
        options = parser().parse_args(["train", *arguments])
        return cli.run_folder(options, cli.settings_of(options)).as_posix()

    assert folder() == folder("--preset", "toy") == "runs/toy"
    assert folder("--preset", "multi30k") == "runs/multi30k-en-de"  # refused later: data are missing
    (tmp_path / "my.toml").touch()
    assert folder("--config", str(tmp_path / "my.toml"), "--data", str(tmp_path), "--target", "fr") == "runs/my-en-fr"
    assert folder("--preset", "multi30k", "--data", str(tmp_path)) == "runs/multi30k-en-de"
    assert folder("--run", "here") == "here"
