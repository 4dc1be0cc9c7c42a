"""What a training is made of, from its settings."""

from __future__ import annotations

from dataclasses import asdict, replace

import minigrad as mg
from examples.translate import settings
from examples.translate.training import config, loop_settings, optimizer_of
from minigrad.text import TokenizerPair, WordTokenizer
from tests.support.transformers import small


def test_processes_share_batches_on_the_cpu_alone() -> None:
    """The preset is for two cores; on a GPU the same batches make an update, one after another."""
    chosen = settings.preset("multi30k").training
    assert loop_settings(chosen, True).processes == chosen.processes > 1
    there = loop_settings(replace(chosen, device="cuda"), True)
    assert (there.processes, there.accumulate) == (1, chosen.accumulate)


def test_every_setting_of_the_model_reaches_it() -> None:
    given = settings.ModelSettings(3, 24, 2, 40, False, 50, "rotary", 0.1, 0.2, 0.3, 0.4)
    words = WordTokenizer.train(["a b c"], 10)
    found = config(given, TokenizerPair(words, words)).as_dict()
    assert found == asdict(given) | {"vocabulary": len(words), "source_vocabulary": None}
    same = config(replace(given, embedding_dropout=-1.0), TokenizerPair(words, words))
    assert same.embedding_dropout is None  # as dropout


def test_muon_takes_the_matrices_of_the_layers() -> None:
    model, chosen = small(), settings.preset("multi30k").training
    optimiser = optimizer_of(model, replace(chosen, optimizer="muon"))
    assert isinstance(optimiser, mg.optim.MuonWithAdamW)
    names = {id(p): name for name, p in model.named_parameters()}
    muon, rest = ({names[id(p)] for p in group["params"]} for group in optimiser.param_groups)
    assert [group["muon"] for group in optimiser.param_groups] == [True, False]
    assert muon | rest == set(names.values()) and not muon & rest
    assert all(name.endswith(".weight") and name.startswith(("encoder.", "decoder.")) for name in muon)
    assert {name for name in rest if "embedding" in name}
    assert type(optimizer_of(model, replace(chosen, optimizer="adamw"))) is mg.optim.AdamW
