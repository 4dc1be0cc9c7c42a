"""The parts of a training run made from settings: the model, the optimiser, the loss."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import minigrad as mg
from minigrad_models.text import TokenizerPair, WordTokenizer
from minigrad_models.translation import translation_settings as settings
from minigrad_models.translation.architectures import ARCHITECTURES, build
from minigrad_models.translation.train_translator import train
from tests.support.transformers import small


def test_every_setting_of_a_model_reaches_it() -> None:
    sizes = {"layers": 3, "d_model": 24, "heads": 2, "d_ff": 40, "hidden": 14, "kernel": 5, "positions": 50}
    dropouts = {"dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.3, "embedding_dropout": 0.4}
    words = WordTokenizer.train(["a b c"], 10)
    assert set(ARCHITECTURES) == set(settings.MODELS)
    for name, kind in ARCHITECTURES.items():
        model_settings = settings.ModelSettings(name, norm_first=False, position_encoding="rotary", **sizes, **dropouts)
        config = build(model_settings, TokenizerPair(words, words)).config.as_dict()
        assert config.pop("vocabulary") == len(words) and config.pop("source_vocabulary") is None
        free = {key: getattr(model_settings, key) for key in config.keys() - kind.arguments.keys()}
        assert config == {**kind.arguments, **free}, name
    assert build(settings.ModelSettings(), TokenizerPair(words, words)).config.embedding_dropout is None


def test_muon_optimizes_the_matrices_of_the_layers() -> None:
    model, training = small(), settings.preset("multi30k").training
    optimiser = replace(training, optimizer="muon").make_optimizer(model)
    assert isinstance(optimiser, mg.optim.MuonWithAdamW)
    names = {id(p): name for name, p in model.named_parameters()}
    muon, rest = ({names[id(p)] for p in group["params"]} for group in optimiser.param_groups)
    assert [group["muon"] for group in optimiser.param_groups] == [True, False]
    assert muon | rest == set(names.values()) and not muon & rest
    assert all(name.endswith(".weight") and name.startswith(("encoder.", "decoder.")) for name in muon)
    assert {name for name in rest if "embedding" in name}
    assert type(replace(training, optimizer="adamw").make_optimizer(model)) is mg.optim.AdamW


def test_a_training_that_cannot_report_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    folder = tmp_path / "run"
    with pytest.raises(ImportError, match=r"pip install.*sacrebleu"):
        train(settings.preset("toy"), folder)
    assert not folder.exists()
