"""Damaged and hostile checkpoints of the translator are rejected immediately, with one line that names the file."""

import copy
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.commands import minigrad_command as cli
from minigrad_models.programs.folder import REPORT
from minigrad_models.training import read_checkpoint

for extra in ("tqdm", "tokenizers", "sacrebleu"):
    pytest.importorskip(extra)
SMALL = {"layers": 1, "d-model": 16, "d-ff": 32, "heads": 2, "vocabulary": 80, "batch-tokens": 100, "warm-up": 1}
SMALL |= {"steps": 2, "ranks": 1}
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A training run of two steps, whose model exists when the tests begin."""
    folder = tmp_path_factory.mktemp("checkpoints")
    (folder / "c.tsv").write_text("one cat\tun gatto\ntwo dogs\tdue cani\n" * 20, encoding="utf-8")
    sizes = [part for name, value in SMALL.items() for part in (f"--{name}", str(value))]
    command = ["train", "--data", str(folder / "c.tsv"), "--run", str(folder / "run"), *sizes]
    assert cli.main(command) == 0
    return command


def run_of(command: list[str]) -> Path:
    return Path(command[command.index("--run") + 1])


def set_at(*path: Any) -> Callable[[Any], Change]:
    """Put a value at a position of a checkpoint."""

    def of(value: Any) -> Change:
        def change(content: dict[str, Any]) -> None:
            for key in path[:-1]:
                content = content[key]
            content[path[-1]] = value

        return change

    return of


def nested(depth: int, make: Callable[[Any], Any], node: Any) -> Any:
    for _ in range(depth):
        node = make(node)
    return node


def tree() -> Any:
    """A description of a few hundred bytes with 2⁷⁰ leaves."""
    return nested(70, lambda node: [node, node], [1])


def circle() -> dict[str, Any]:
    node: dict[str, Any] = {}
    node["again"] = node
    return node


HOSTILE = [tree(), circle(), nested(90, lambda node: {"x": node}, {}), 1 << 5000, -1, math.nan, "x" * 1_000_000]
HOSTILE += [None, [], {}, b"x", (1, 2)]
MODEL, TOKENIZERS = ("extra", "model"), ("extra", "tokenizers")
PLACES = [("extra",), ("extra", "version"), ("extra", "settings"), MODEL, TOKENIZERS, ("model",)]
PLACES += [(*MODEL, name) for name in ("heads", "layers", "d_model", "d_ff", "positions", "vocabulary", "dropout")]
PLACES += [("extra", "settings", "training", name) for name in ("steps", "metric")]
PLACES += [("extra", "settings", "decoding", "beam"), (*TOKENIZERS, "source"), (*TOKENIZERS, "source", "json")]
SIZES = ("layers", "d_model", "d_ff", "heads", "positions", "vocabulary", "source_vocabulary")


def refused(argv: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with one line that names the file."""
    status, err = cli.main(argv), capsys.readouterr().err
    assert status == 1 and err.startswith("error: ") and err.count("\n") == 1 and str(file) in err, err[-500:]
    assert len(err) < 1000, err[:200]


def test_invalid_models(command: list[str], tmp_path: Path, capsys: Any) -> None:
    content, path = read_checkpoint(run_of(command) / "model.safetensors"), tmp_path / "model.safetensors"
    for i, place in enumerate(PLACES):
        for value in HOSTILE if i < 2 else HOSTILE[i % 3 :: 3]:  # each value is put at each kind of position
            if place == ("extra", "settings") and value == {}:
                continue  # missing settings have defaults
            hostile = copy.copy(content)
            hostile["extra"] = copy.deepcopy(content["extra"])
            set_at(*place)(value)(hostile)
            mg.save(hostile, path)
            refused(["translate", "one", "--run", str(path)], path, capsys)
    for name, size in itertools.product(SIZES, (10**9, 0, -2, 3)):
        if name in ("positions", "heads") and size == 3:
            continue  # three positions are valid; a third of the width is refused below
        hostile = copy.deepcopy(content)
        hostile["extra"]["model"][name] = size
        mg.save(hostile, path)
        refused(["translate", "one", "--run", str(path)], path, capsys)


TOKENIZER = {
    "not JSON": lambda state: "{",
    "deep": lambda state: "[" * 100_000,
    "a slow regular expression": lambda state: json.dumps(
        state | {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}}
    ),
    "an unknown step": lambda state: json.dumps(state | {"normalizer": {"type": "Precompiled"}}),
    "a long replacement": lambda state: json.dumps(
        state | {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 10_000}}
    ),
    "no model": lambda state: json.dumps({key: value for key, value in state.items() if key != "model"}),
    "other ids": lambda state: json.dumps(state | {"model": state["model"] | {"vocab": {"<unk>": 7}, "merges": []}}),
    "another model": lambda state: json.dumps(state | {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "a"}}),
}


def test_invalid_tokenizers(command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.safetensors"
    for spoil in TOKENIZER.values():
        content = read_checkpoint(run_of(command) / "model.safetensors")
        tokenizer = content["extra"]["tokenizers"]["source"]
        tokenizer["json"] = spoil(json.loads(tokenizer["json"]))
        mg.save(content, path)
        refused(["translate", "a" * 40 + "b", "--run", str(path)], path, capfd)


WRONG: dict[str, list[Change]] = {
    "optimizer": [set_at("optimizer")(x) for x in HOSTILE]
    + [set_at("optimizer", "state")(x) for x in (tree(), 5, {"0": {}}, {99: {}}, {0: 1}, {0: {"step": 1}})]
    + [set_at("optimizer", "state", 0, "exp_avg")(x) for x in (1, "x", mg.zeros(3), None)]
    + [set_at("optimizer", "param_groups")(x) for x in ([], [{}], "x", [{"params": [0]}])]
    + [set_at("optimizer", "param_groups", 0, "lr")(x) for x in ("x", [1], mg.zeros(3))],
    "random": [set_at("random")(x) for x in HOSTILE]
    + [set_at("random", "python")(x) for x in (5, (3, (1, 2), None), (3, ("x",) * 625, None), (3, (-1,) * 625, None))]
    + [set_at("random", "numpy", "state", "pos")(x) for x in (-1, 10**9, "x")]
    + [set_at("random", "minigrad")(x) for x in (mg.zeros(3), mg.full((5088,), 255, dtype=mg.uint8))],
    "settings": [set_at("settings")(x) for x in HOSTILE]
    + [set_at("settings", "steps")(x) for x in ("x", -1, None, 1.5)]
    + [set_at("settings", "clip")(x) for x in ("x", -1, [])],
    "training": [set_at("training")(x) for x in HOSTILE if x != {}]
    + [set_at("training", "step")(x) for x in ("x", -1, 10**30, None)]
    + [set_at("training", "window")(x) for x in (5, {"x": 1}, {"loss": "x"})]
    + [set_at("training", "snapshots")(x) for x in (5, ["x"], tree())],
    "schedule": [set_at("schedule")(x) for x in HOSTILE if x != {}] + [set_at("schedule", "last_epoch")("x")],
    "model": [set_at("model")(x) for x in HOSTILE] + [set_at("model", "embedding.weight")(x) for x in (5, mg.zeros(2))],
}


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.nightly, id="all"), pytest.param(4, id="quarter")])
def test_a_training_cannot_resume_from_an_invalid_checkpoint(command: list[str], every: int, capsys: Any) -> None:
    last = run_of(command) / "last.safetensors"
    whole = last.read_bytes()
    (last.parent / REPORT).unlink(missing_ok=True)  # otherwise the command of a finished run reads no checkpoint
    try:
        for change in [change for changes in WRONG.values() for change in changes][::every]:
            content = read_checkpoint(last)
            change(content)
            mg.save(content, last)
            before = {path: path.read_bytes() for path in last.parent.rglob("*") if path.is_file()}
            status, err = cli.main(command), capsys.readouterr().err
            assert status == 1 and f"{last} " in err and "Traceback" not in err and len(err) < 3000, err
            assert {path: path.read_bytes() for path in last.parent.rglob("*") if path.is_file()} == before
            last.write_bytes(whole)
    finally:
        last.write_bytes(whole)
    assert cli.main(command) == 0
    capsys.readouterr()
    assert np.isfinite(read_checkpoint(last)["training"]["seconds"])
