"""The translator's commands: train, translate, evaluate, serve, config."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..programs import command_line as common
from ..programs.command_line import Command, later
from ..programs.options import add_limits, whole
from .translation_settings import BLEU_TOKENIZERS, Settings, languages

DEFAULT = "toy without --data, otherwise settings that suit the pairs"
DEFAULT_RUN = Path("runs") / "toy"
TRANSLATE, EVALUATE = (later(f"translation.translate_and_evaluate.{name}") for name in ("translate", "evaluate"))


def _search(p: argparse.ArgumentParser) -> None:
    p.add_argument("--beam", type=whole(), metavar="N", help="beam width; 1: greedy")
    p.add_argument("--length-penalty", type=float, metavar="ALPHA", help="a higher value favours longer translations")
    mbr = "select from the beam by minimum Bayes risk, with weights exp(SHARPNESS · score); 0: the best score"
    p.add_argument("--mbr", type=float, metavar="SHARPNESS", help=mbr)
    p.add_argument("--batch", type=whole(), default=100, metavar="N", help="sentences per batch (default: 100)")
    p.add_argument("--no-cache", action="store_true", help="recompute everything at each step")


def _translate(p: argparse.ArgumentParser) -> None:
    p.add_argument("sentences", nargs="*", help="sentences to translate (default: read lines)")
    p.add_argument("--input", type=Path, metavar="FILE", help="a file of sentences, one per line (default: stdin)")
    p.add_argument("--output", type=Path, metavar="FILE", help="output file (default: stdout)")
    common.add_run(p, DEFAULT_RUN)
    _search(p)
    n_best = "print the N best translations of the beam with their scores"
    p.add_argument("--n-best", type=whole(), default=1, metavar="N", help=n_best)
    p.add_argument("--sample", type=float, metavar="TEMPERATURE", help="sample translations at random")
    add_limits(p)
    p.add_argument("--seed", type=int, default=0, help="seed for --sample (default: 0)")
    attention = "write the attention: a page with all heads and beams (.html), or an image of their mean (.svg; .pdf "
    attention += "and .png need the viz extra)"
    p.add_argument("--attention", type=Path, metavar="FILE", help=attention)
    graph = "write the attention page next to a graph of each beam's loss, with links between them"
    p.add_argument("--graph", type=Path, metavar="FILE.html", help=graph)


def _evaluate(p: argparse.ArgumentParser) -> None:
    common.add_run(p, DEFAULT_RUN)
    _search(p)
    p.add_argument("--data", nargs="+", type=Path, metavar="PATH", help="other pairs (default: the training data)")
    p.add_argument("--split", default="test", choices=("validation", "test"), help="the split to use (default: test)")
    bleu = "sacreBLEU's tokenizer; auto: chosen by the target language (default: as in training)"
    p.add_argument("--bleu-tokenizer", choices=BLEU_TOKENIZERS, help=bleu)
    p.add_argument("--worst", type=int, default=5, metavar="N", help="show the N worst translations (default: 5)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, with all translations")


def settings_of(options: argparse.Namespace, program: Any = None) -> Settings:
    """The settings from the options and a preset, a file, or the run to resume."""
    values = common.values_of(options, Settings)
    if "data" in values and options.config is None:
        values = {**languages(values["data"]), **values}
    from .own_pairs import RECIPE, suited  # here, as ``--help`` does not need it

    more: dict[str, Any] = {"default": "toy", "folder": run_folder, "sizes": later("translation.translator.sizes")}
    more |= {"default": RECIPE, "suited": suited} if "data" in values else {}
    return common.settings_of(options, program, kind=Settings, values=values, **more)


def run_folder(options: argparse.Namespace, settings: Settings) -> Path:
    """The folder of a run: ``--run``, or a folder named after the preset and the languages."""
    data = settings.data.data
    if options.run is None and not data and options.preset in (None, DEFAULT_RUN.name):
        return DEFAULT_RUN
    if not (options.run or options.preset or options.config or len(data) > 1 or Path(data[0]).is_dir()):
        return Path("runs") / Path(data[0]).name.partition(".")[0]
    return common.folder_of(options, "", settings.data.source, settings.data.target)


names, module = "preset or the data", "translation.train_translator"
TRAIN, CONFIG = common.training_commands(module, Settings, settings_of, run_folder, names, DEFAULT, start="from")
COMMANDS = (
    TRAIN,
    Command("translate", "translate sentences from arguments, a file or a pipe", _translate, TRANSLATE),
    Command("evaluate", "compute BLEU and chrF on held-out sentences, and show the worst", _evaluate, EVALUATE),
    CONFIG,
)
