"""What "they" attends to: by word, summed as it should be, and all of it the model's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from examples.lectures import cli, they
from examples.lesson.blocks import Choice, Line
from minigrad.models.transformer import Transformer
from minigrad.text.tokenizer import EOS
from minigrad.translate.translator import Translator


def test_by_token_and_by_word() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]])
    found = they.by_word(weights[None], [[0], [1, 2]], [[0, 1], [2]])
    np.testing.assert_allclose(found, [[[0.3, 0.7], [(0.6 + 0.75) / 2, (0.4 + 0.25) / 2]]])


def test_the_weights_are_the_encoders(small_run: Path) -> None:
    translator = Translator.load(small_run)
    found = they.look(translator, they.SENTENCE)
    assert found.words == [*they.SENTENCE.split(), "⟨end⟩"] and found.self_attention.shape == (2, 2, 9, 9)
    assert found.target[-1] == "⟨end⟩" and found.cross_attention.shape == (2, 2, len(found.target), 9)
    ids = mg.tensor([[*translator.tokenizers.source.encode(they.SENTENCE), EOS]])
    wanted = first_layer(translator.model, ids)
    np.testing.assert_allclose(found.self_attention[0], wanted, atol=1e-6)
    assert found.error < 1e-5
    assert all(not layer.attention._forward_hooks for layer in translator.model.encoder)


@mg.no_grad()
def first_layer(model: Transformer, ids: mg.Tensor) -> np.ndarray:
    """softmax(Q Kᵀ / √Dh), head by head, in NumPy."""
    layer = model.encoder[0]
    x = model.embed(ids, source=True)
    x = layer.attention_residual.norm(x) if model.config.norm_first else x
    parts = layer.attention.query, layer.attention.key
    query, key = (np.split(part(x)[0].numpy(), 2, 1) for part in parts)
    scores = np.stack([q @ k.T / np.sqrt(8) for q, k in zip(query, key, strict=True)])
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


def test_the_lesson(small_run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lesson = they.lesson(small_run)
    assert all(check.holds for check in lesson.checks())
    (choice,) = (b for b in lesson.sections[0].blocks if isinstance(b, Choice))
    assert len(choice.options) == 1 + 2 * (1 + 2) and all(isinstance(line, Line) for line in choice.options)
    (adjective,) = (b for b in lesson.sections[2].blocks if isinstance(b, Line))
    assert adjective.asks is not None and adjective.words[adjective.asks] == "tasty"
    lines = [b for b in lesson.sections[4].blocks if isinstance(b, Line)]
    assert [" ".join(line.words[:-1]) for line in lines] == list(they.OTHERS)
    shown = choice.options[choice.start]
    assert isinstance(shown, Line)
    difference = {
        name: abs(line.weights[1] - line.weights[3])
        for name, line in zip(choice.names, choice.options, strict=True)
        if isinstance(line, Line) and "head" in name
    }
    assert abs(shown.weights[1] - shown.weights[3]) == max(difference.values())
    assert choice.names[choice.start] == max(difference, key=lambda name: difference[name])
    assert cli.main(["they", "--run", str(small_run), "--save", str(tmp_path)]) == 0
    how = capsys.readouterr()
    assert "they" in how.out and "never seen: apples" in how.out and (tmp_path / "they.html").exists()


def test_the_summary_tells_what_the_weights_are() -> None:
    words = ["My", "friends", "like", "tomatoes"]
    weights = np.array([[[0.1, 0.5, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]], [[0, 0.3, 0.2, 0.5], [0.9, 0, 0.1, 0]]])
    assert they._summary(weights, words) == (
        "On average over all 4 heads, “they” takes most from “My”: 0.275. From “friends” it takes 0.250, "
        "from “tomatoes” 0.275; an even share would be 1/4 = 0.250. Of the 4 heads 1 take more from "
        "“friends”, and 2 more from “tomatoes”."
    )

    weights[:, :, 0] = 0
    words = ["My", "friends", "tomatoes", "they"]
    assert "“they” takes most from itself: 0.275" in they._summary(weights, words)


def test_the_head_that_decided() -> None:
    weights = np.zeros((2, 3, 4, 4))
    found = they.Looked(["friends", "they", "are", "tomatoes"], [], weights, weights, 0.0, "", [])
    weights[1, 2, 1] = [0.1, 0.2, 0.0, 0.6]
    weights[0, 1, 1] = [0.7, 0.1, 0.1, 0.1]
    weights[0, 0, 2] = [1.0, 0.0, 0.0, 0.0]  # of another word
    assert they.decided(found) == (0, 1)
    weights[1, 2, 1] = [0.1, 0.0, 0.0, 0.8]
    assert they.decided(found) == (1, 2) and they.decided(found, "are") == (0, 0)
