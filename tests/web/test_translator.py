"""The translator in the page returns the package's answers up to the rounding of its weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import minigrad as mg
from docs.web import translator

from .conftest import until

Visit = Callable[..., Any]
HERE = "translator_page/index.html"
ASK = "(sentences) => Promise.all(sentences.map((text) => window.minigradAnswers('/translate', { text, beam: 1 })))"


def test_half_precision_keeps_a_models_file(tmp_path: Path) -> None:
    from minigrad_models.training.checkpoints import write_checkpoint

    exact = {"a.weight": mg.randn(4, 3), "b.bias": mg.zeros(0)}
    write_checkpoint(tmp_path / "model.safetensors", {"model": exact, "step": 3, "extra": {"program": "x"}})
    translator.halved(tmp_path / "model.safetensors", tmp_path / "half.safetensors")
    read = mg.load(tmp_path / "half.safetensors")
    assert (read["step"], read["extra"]) == (3, {"program": "x"})
    assert all(weight.dtype == mg.float16 for weight in read["model"].values())
    assert mg.allclose(read["model"]["a.weight"].float(), exact["a.weight"], rtol=1e-3)


def test_the_page_translates_as_the_command_line(site: Path, visit: Visit) -> None:
    from minigrad_models.translation import Translator
    from minigrad_models.translation.translation_data import read_shipped

    sentences = list(read_shipped(1)["test"].source)[:200]
    exact = [t.text for t in Translator.load(translator.trained()).translate(sentences, beam=1)]
    half = Translator.load(site / "translator_page" / translator.MODEL).translate(sentences, beam=1)
    page = visit(HERE)
    until(page, "document.querySelector('#samples').children.length > 0")
    answers = page.evaluate(ASK, sentences)
    results = [answer["sentences"][0]["text"] for answer in answers]
    # WebAssembly rounds sums differently, so the other one of two equally likely words may win.
    assert sum(a != b.text for a, b in zip(results, half, strict=True)) <= 1
    rounded = [pair for pair in zip(results, exact, strict=True) if pair[0] != pair[1]]
    assert len(rounded) <= 4, rounded


def test_attention_graph_and_training(visit: Visit) -> None:
    page = visit(HERE)
    until(page, "document.querySelector('#samples').children.length > 0")
    page.fill("#text", "I love you very much.")
    page.click("#go")
    page.locator("#target :first-child").first.wait_for()
    assert "Ti amo molto." in page.locator("#target").inner_text()
    assert page.locator("#map").inner_text()
    page.click("#linked")
    page.locator("#graph-place iframe").wait_for()
    page.locator("#training button").press("Enter")  # not a click, as drawing above moves the button
    until(page, "document.querySelector('#training p').textContent.includes('steps in')")
    assert page.locator("#training .line").count() == 1
