"""The command line: pre-train, fine-tune on four tasks, predict with a fine-tuned model, and search."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..programs.command_line import Command, add_file, program
from ..programs.options import add_number, positive, whole
from ..text.subwords import MOST
from . import search
from .bert_data import lines
from .pretraining import Options as Pretraining, pretrain
from .tasks import TASKS, AnyTask, Recipe
from .train_bert import SCRATCH, SHORTEST, Options, Size, finetune, load, shown

FEW = 600  # updates of pre-training on the bundled corpus
ABOUT = "Pre-train BERT on a text, fine-tune it on four tasks, or search by meaning."
EXAMPLES = """
examples:
  minigrad bert sst2 --from scratch                from random weights, on a small bundled data set
  minigrad bert sst2 --data DIR                    from MiniLM's weights, if they are installed
  minigrad bert pretrain --text book.txt           masked words and next sentence
  minigrad bert conll --data DIR --from runs/bert-pretrain/model
  minigrad bert predict runs/bert-sst2 "a gripping film"
  minigrad bert evaluate runs/bert-sst2 --data dev.tsv
  minigrad bert search "a lost child" --input book.txt

If training was interrupted, run the same command again to resume it.
"""


def _pretrain(p: argparse.ArgumentParser) -> None:
    default = Pretraining(Path(), Path())
    text = "a UTF-8 text file, plain or gzipped (default: the English sentences of the bundled corpus)"
    p.add_argument("--text", type=Path, metavar="FILE", help=text)
    _run(p, "pretrain")
    text = f"number of updates (default: {default.updates}; without --text, {FEW})"
    p.add_argument("--updates", type=whole(2), metavar="N", help=text)
    add_number(p, "--batch", whole(), default.batch, "examples per update")
    add_number(p, "--rate", positive(), default.rate, "peak learning rate")
    add_number(p, "--max-length", whole(8), default.longest, "word pieces per example, and positions of the model")
    add_number(p, "--evaluate-every", whole(), default.evaluate_every, "updates between evaluations")
    _size(p)


def _finetune(p: argparse.ArgumentParser, task: AnyTask) -> None:
    p.add_argument("--data", type=Path, metavar="DIR", help=task.files)
    source = f'a folder with config.json and model.safetensors, or "{SCRATCH}" (default: MiniLM, if it is installed)'
    p.add_argument("--from", dest="source", metavar="DIR", help=source)
    _run(p, task.name)
    numbers = (
        ("epochs", whole(), "passes over all examples"),
        ("batch", whole(), "examples per update"),
        ("rate", positive(), "peak learning rate"),
    )
    for name, kind, meaning in numbers:
        text = f"{meaning} (default: {getattr(task.recipe, name)}; from scratch: {getattr(task.scratch, name)})"
        p.add_argument(f"--{name}", type=kind, metavar="N", help=text)
    _length(p, whole(SHORTEST), task.longest, "word pieces that the model reads at once")
    _size(p)


def _size(p: argparse.ArgumentParser) -> None:
    group, default = p.add_argument_group("a model from scratch"), Size()
    add_number(group, "--layers", whole(1, 1000), default.layers, "number of encoder layers")
    add_number(group, "--width", whole(), default.width, "width of the hidden states")
    add_number(group, "--heads", whole(), default.heads, "attention heads; must divide the width")
    add_number(group, "--vocabulary", whole(10, MOST), default.vocabulary, "maximum number of word pieces")
    add_number(group, "--dropout", positive(0, 1), default.dropout, "dropout probability")


def _run(p: argparse.ArgumentParser, name: str) -> None:
    folder = Path("runs") / f"bert-{name}"
    text = f"folder for all output (default: {folder})"
    p.add_argument("--run", type=Path, default=folder, metavar="DIR", help=text)
    add_number(p, "--seed", whole(0, 2**63 - 1), 0, "seed of all random numbers")


def _predict(p: argparse.ArgumentParser) -> None:
    p.add_argument("model", type=Path, help="a run folder or a model folder")
    p.add_argument(
        "texts",
        nargs="*",
        help="sst2: a sentence; mrpc: two sentences separated by a tab; squad: a question, a tab and a text; conll: "
        "words separated by spaces",
    )
    add_file(p, "--input", "a file with one input per line (default: stdin)")


def _evaluate(p: argparse.ArgumentParser) -> None:
    p.add_argument("model", type=Path, help="a run folder or a model folder")
    p.add_argument("--data", type=Path, required=True, metavar="FILE", help="labelled examples in the task's format")


def _search(p: argparse.ArgumentParser) -> None:
    p.add_argument("queries", nargs="+", metavar="query", help="what to look for")
    p.add_argument("--input", type=Path, required=True, metavar="FILE", help="a UTF-8 file with one passage per line")
    p.add_argument("--from", dest="source", type=Path, metavar="DIR", help="model folder (default: MiniLM)")
    add_number(p, "--top", whole(), 5, "number of lines to show")
    _length(p, whole(3), search.LONGEST, "word pieces read from each line")


def _length(p: argparse.ArgumentParser, kind: Callable[[str], int], usual: int, meaning: str) -> None:
    text = f"{meaning} (default: {usual}, or the model's positions if fewer)"
    p.add_argument("--max-length", type=kind, metavar="N", help=text)


def _do_pretrain(o: argparse.Namespace) -> int:
    size = Size(o.layers, o.width, o.heads, o.vocabulary, o.dropout)
    updates = o.updates or (Pretraining(None, o.run).updates if o.text else FEW)
    pretrain(Pretraining(o.text, o.run, size, updates, o.batch, o.rate, o.max_length, o.evaluate_every, o.seed))
    return 0


def _do_finetune(o: argparse.Namespace) -> int:
    task = TASKS[o.command]
    usual = task.scratch if o.source == SCRATCH else task.recipe
    recipe = Recipe(o.epochs or usual.epochs, o.batch or usual.batch, o.rate or usual.rate)
    size = Size(o.layers, o.width, o.heads, o.vocabulary, o.dropout)
    finetune(task, Options(o.data, o.source, o.run, recipe, o.max_length, size, o.seed))
    return 0


def _do_predict(o: argparse.Namespace) -> int:
    trained = load(o.model)
    if o.texts:
        texts = o.texts
    elif o.input is not None:
        texts = [line for _, line in lines(o.input)]
    else:
        texts = sys.stdin.read().removeprefix("\ufeff").split("\n")
    examples = [trained.task.parse(line.rstrip("\r")) for line in texts if line.strip()]
    if not examples:
        raise ValueError("no input: give texts, or --input FILE with one text per line")
    for example, answer in zip(examples, trained.answers(examples), strict=True):
        print(trained.task.show(example, answer))
    return 0


def _do_evaluate(o: argparse.Namespace) -> int:
    trained = load(o.model)
    examples = trained.task.read_file(o.data)
    trained.task.check(examples, trained.labels)
    print(shown(trained.task.metrics(examples, trained.answers(examples))))
    return 0


def _do_search(o: argparse.Namespace) -> int:
    index = search.Index(o.input, o.source, o.max_length)
    for query in o.queries:
        if len(o.queries) > 1:
            print(query)
        for near in index.nearest(query, o.top):
            print(f"{near.score:.3f}  {near.number:>6}  {near.text}")
    return 0


COMMANDS = (
    Command("pretrain", "learn to fill in masked words and to predict the next sentence", _pretrain, _do_pretrain),
    *(
        Command(task.name, f"learn {task.about}", partial(_finetune, task=task), _do_finetune)
        for task in TASKS.values()
    ),
    Command("predict", "run a fine-tuned model on new input", _predict, _do_predict),
    Command("evaluate", "evaluate a fine-tuned model on labelled examples", _evaluate, _do_evaluate),
    Command("search", "find the lines of a file that are nearest to a query in meaning", _search, _do_search),
)
parser, main = program("minigrad bert", ABOUT, EXAMPLES, COMMANDS, "--batch or --max-length")
