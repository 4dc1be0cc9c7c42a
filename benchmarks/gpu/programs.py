"""Times updates with the presets of the programs in the real training loop (batches, loss, clipping, optimizer,
schedule), and trains and scores the toy translator with the command that a user types.

The texts come from ``MINIGRAD_DATA`` or from the corpus that ships with minigrad.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad_models.gpt import gpt_settings
from minigrad_models.gpt.gpt_run import ARCHITECTURES, build as build_language_model
from minigrad_models.gpt.tokens import learn
from minigrad_models.programs.start_training import trainer_of
from minigrad_models.text import Pairs
from minigrad_models.training import Trainer
from minigrad_models.translation import translation_data as data, translator as run
from minigrad_models.translation.architectures import build
from minigrad_models.translation.own_pairs import examples_of
from minigrad_models.translation.train_translator import make_trainer
from minigrad_models.translation.translation_settings import preset

from .place import Place

DATA = Path(os.environ.get("MINIGRAD_DATA", "data"))
PAIRS = 100  # in a rehearsal: the smallest number of which some are held out
_TINY = "--preset toy --held-out 1 --steps 3 --warm-up 1 --layers 1 --d-model 8 --heads 2 --d-ff 8 --batch-tokens 32"
TINY_MODEL = {"layers": 1, "d_model": 16, "heads": 2}


class Timed:
    """Batches of a training run that time updates from ``first`` to ``last`` without synchronizing in between."""

    def __init__(self, place: Place, batches: Any, each: int, first: int, last: int) -> None:
        self.place, self.batches, self.first, self.last = place, batches, each * first, each * last
        self.number, self.updates, self.seconds = 0, last - first, 0.0

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """The same batches, timed while the program uses them."""
        for batch in self.batches.epoch(number, start):
            if self.number in (self.first, self.last):
                self.place.synchronize()
                self.seconds = time.perf_counter() - self.seconds
            self.number += 1
            yield batch


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The presets to train on a GPU, or a complete training run in the ``toy`` stage."""
    if place.stage == "toy":
        return {"minigrad train": partial(trained, place)}
    kinds = {"toy": translator, "multi30k": translator, "shakespeare": language_model}
    return {name: partial(timed, place, name, kind) for name, kind in kinds.items()}


def timed(place: Place, name: str, kind: Callable[..., tuple[Trainer, str]]) -> dict[str, Any]:
    """Milliseconds per update with a preset."""
    first, count = place.choose((10, 40), (1, 1))
    steps = first + count + 1
    changes = {"device": place.device, "steps": steps, "ranks": 1, "warm_up": 1, "save_seconds": 0.0, "average": 0}
    mg.manual_seed(0)
    trainer, of = kind(place, name, place.work / f"update-{name}", changes)
    clock = Timed(place, trainer.batches, trainer.settings.accumulate, first, first + count)
    trainer.batches = clock
    trainer.settings = replace(trainer.settings, progress=False)
    trainer.fit()
    return {"update of": name, "text": of, "ms": 1000 * clock.seconds / count, "per second": count / clock.seconds}


def translator(place: Place, name: str, folder: Path, changes: dict[str, Any]) -> tuple[Trainer, str]:
    """The trainer of a translator, without evaluations."""
    pairs, of = translations(place, name)
    more = place.choose({}, {**TINY_MODEL, "d_ff": 32, "batch_tokens": 48, "vocabulary": 100})
    settings = preset(name).changed({**changes, **more})
    tokenizers = data.tokenizers_for(pairs, settings.data)
    model = build(settings.model, tokenizers, place.device)
    encoded = data.encode(pairs, tokenizers, settings)
    untrained = run.Translator(model, tokenizers, settings, examples_of({"train": pairs}))
    return make_trainer(untrained, {"train": pairs}, encoded, run.configuration(settings, pairs), folder), of


def language_model(place: Place, name: str, folder: Path, changes: dict[str, Any]) -> tuple[Trainer, str]:
    """The trainer of a causal language model, whose evaluation does nothing."""
    text, of = plays(place)
    more = place.choose({}, {**TINY_MODEL, "context": 8, "batch": 2})
    settings = gpt_settings.Settings.preset(name).changed({**changes, **more})
    s, kind = settings.training, ARCHITECTURES[settings.model.model]
    tokens = learn(settings.data.tokenizer, text, text, settings.data.vocabulary)
    model = build_language_model(settings.model, len(tokens), s.device)
    batches = kind.batches(tokens.encode(text), settings.window, s.batch, s.seed, s.device)
    return trainer_of(model, batches, kind.loss(), lambda model: {"loss": 0.0}, s, folder, {}), of


def plays(place: Place) -> tuple[str, str]:
    """Shakespeare's plays, or the English half of the shipped corpus, and the name of the text."""
    file = DATA / "tinyshakespeare" / "input.txt"
    if file.exists() and not place.rehearsal:
        return file.read_text(encoding="utf-8"), "Shakespeare"
    return "\n".join(translations(place, "toy")[0].source), "the shipped corpus"


def translations(place: Place, name: str) -> tuple[Pairs, str]:
    """The pairs for a preset, or the shipped corpus if Multi30k is missing; and the name of the data."""
    folder = DATA / "multi30k"
    if name == "multi30k" and folder.is_dir() and not place.rehearsal:
        return data.read(preset(name).changed({"data": (str(folder),)}).data)["train"], "Multi30k"
    return data.read_shipped(place.choose(None, 200))["train"], "the shipped corpus"


def trained(place: Place) -> dict[str, Any]:
    """The seconds and scores of a training run. Raises RuntimeError if the command fails; its output is in the log."""
    folder, tiny = place.work / "toy", []
    if place.rehearsal:
        pairs, table = translations(place, "toy")[0], place.work / "pairs.tsv"
        rows = [f"{a}\t{b}\n" for a, b in zip(pairs.source, pairs.target, strict=True)]
        table.write_text("".join(rows[:PAIRS]), encoding="utf-8")
        tiny = [*_TINY.split(), "--positions", "16", "--data", str(table)]
    command = place.command("minigrad", "train", "--device", place.device, "--run", str(folder), *tiny)
    start = time.perf_counter()
    process = subprocess.run(command, check=False)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"minigrad train ended with code {process.returncode}")
    scores = json.loads((folder / "test.json").read_text(encoding="utf-8"))
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    exact = scores["exact"] / scores["sentences"]
    row = {"training": "toy", "seconds in all": seconds, "BLEU": scores["bleu"]["value"], "exact": exact}
    return {**row, "log": [json.loads(line) for line in lines[-2:]]}
