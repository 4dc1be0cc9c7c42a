"""The translator's models: from settings to a file and back, and their attention."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.programs.models import check_memory
from minigrad_models.text import TokenizerPair, WordTokenizer
from minigrad_models.translation import translator as run
from minigrad_models.translation.architectures import ARCHITECTURES, build, restored
from minigrad_models.translation.translation_settings import preset
from minigrad_models.translation.translator import Hypothesis, Translation, Translator
from tests.support.cases import raises

WORDS = WordTokenizer.train(["i like cats they like dogs"])
BOTH = TokenizerPair(WORDS, WORDS)
each_model = pytest.mark.parametrize("name", ARCHITECTURES)


def translator(name: str) -> Translator:
    mg.manual_seed(0)
    sizes = {"model": name, "hidden": 8, "d_model": 8, "d_ff": 8, "heads": 2, "layers": 2, "vocabulary": 20}
    settings = preset("toy").changed(sizes)
    return Translator(build(settings.model, BOTH).eval(), BOTH, settings)


@each_model
def test_a_file_gives_the_same_translator(name: str, tmp_path: Path) -> None:
    first = translator(name)
    run.write_model(tmp_path, first.model.state_dict(), 1, Translator(first.model, BOTH, first.settings).described({}))
    second = Translator.load(tmp_path)
    assert type(second.model) is type(first.model)
    assert second.settings == first.settings
    assert second.translate(["i like cats", ""], beam=2) == first.translate(["i like cats", ""], beam=2)


@each_model
def test_attention_is_shown_if_the_model_has_it(name: str, tmp_path: Path) -> None:
    small = translator(name)
    beam = [Hypothesis("they like dogs", -1.0), Hypothesis("cats", -2.0)]
    translation = Translation("i like cats", beam[0].text, -1.0, beam)
    if name in ("rnn", "lstm", "gru"):
        for show in (small.look, small.linked, lambda t: small.attention(t.source, t.text)):
            raises(ValueError, "this model has no attention", partial(show, translation))
        return
    view = small.look(translation)
    assert [len(text.attentions[-1].rows) for text in view.beam] == [4, 2]
    weights = small.attention("i like cats", "they like dogs").weights
    cross = view.attentions[-1]
    assert cross.kind == "cross"
    np.testing.assert_allclose([layer.weights for layer in cross.layers], weights, rtol=1e-5, atol=1e-7)
    assert small.linked(translation).save(tmp_path / "linked.html").stat().st_size > 10_000


def test_files_with_inconsistent_configurations() -> None:
    rows: list[tuple[dict[str, Any], str]] = [
        ({"size": 3}, "its model has an unknown entry 'size'"),
        ({"d_model": "8"}, "its model.d_model is '8', but should be of type int"),
        ({"d_model": 80_000}, "its weights do not match the sizes of its model"),
        ({"layers": 1000}, "its weights do not match the sizes of its model"),
        ({"vocabulary": 0}, "the sizes of its model are missing or below 1"),
    ]
    for name in ARCHITECTURES:
        model = translator(name).model
        for change, message in rows:
            with pytest.raises(ValueError, match=message):
                restored(name, model.config.as_dict() | change, model.state_dict())
    gru = translator("gru").model
    raises(ValueError, "has an unknown entry", lambda: restored("transformer", gru.config.as_dict(), gru.state_dict()))
    with pytest.raises(ValueError, match="its weights do not match the sizes"):
        restored("gru", gru.config.as_dict() | {"hidden": 80_000}, gru.state_dict())


def test_a_model_too_large_for_the_machine() -> None:
    check_memory(10**6, "cpu")
    check_memory(10**15, "cuda")
    with pytest.raises(ValueError, match="a model of 1,000,000,000,000,000 weights needs 14,901,161 GiB to train"):
        check_memory(10**15, "cpu")
