"""The command line: train, evaluate, translate, serve, config."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from ..options import whole
from .settings import FIELDS, Settings, as_toml, meaning, preset, preset_names, read

EXAMPLES = """
examples:
  python -m examples.translate train                         English to Italian (some minutes on 2 cores)
  python -m examples.translate translate "I like cats"       translate with the trained model
  python -m examples.translate train --data corpus.tsv       your own sentence pairs, with subwords
  python -m examples.translate train --preset multi30k --data DIR --source en --target de
  python -m examples.translate evaluate --run runs/multi30k-en-de
  python -m examples.translate translate --run runs/multi30k-en-de <text.en >text.de
  python -m examples.translate serve                         a page on this machine to type into
  python -m examples.translate config --preset base >my.toml settings to change, for train --config my.toml

The same command again resumes a training that was stopped in any way.
"""
CLOSED: set[str] = set()  # the streams that were closed before the start
DEFAULT_RUN = Path("runs") / "toy"


def parser() -> argparse.ArgumentParser:
    """The command line's commands and their options."""
    p = argparse.ArgumentParser(
        prog="python -m examples.translate",
        description="Train a transformer to translate, and translate with it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = p.add_subparsers(dest="command", required=True, metavar="command")
    for name, add, text in (
        ("train", _train, "train a model, or resume a training"),
        ("evaluate", _evaluate, "BLEU and chrF of held-out sentences, BLEU by length, and the worst sentences"),
        ("translate", _translate, "translate sentences: arguments, a file, or a pipe"),
        ("serve", _serve, "a page on this machine that translates text, and shows the attention"),
        ("config", _config, "print all settings as a configuration file"),
    ):
        raw = argparse.RawDescriptionHelpFormatter
        add(commands.add_parser(name, help=text, description=text.capitalize() + ".", formatter_class=raw))
    return p


def _train(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--run",
        type=Path,
        metavar="DIR",
        help="the folder of the run (default: runs/, and the preset's or the data's name)",
    )
    p.add_argument("--fresh", action="store_true", help="begin anew: an earlier training in the folder is renamed")
    _settings(p)


def _config(p: argparse.ArgumentParser) -> None:
    _settings(p)


def _settings(p: argparse.ArgumentParser) -> None:
    """Options for a preset, for a file, and for each setting."""
    base = p.add_mutually_exclusive_group()
    base.add_argument(
        "--preset",
        metavar="NAME",
        help=f"start from a preset: {', '.join(preset_names())} "
        "(default: toy without --data, else the settings of the reference recipe)",
    )
    base.add_argument("--config", type=Path, metavar="FILE", help="start from a TOML file, in the format of config")
    groups: dict[str, Any] = {}
    for name, (section, kind, _) in FIELDS.items():
        if section not in groups:
            groups[section] = p.add_argument_group(f"settings: {section}")
        option, text = "--" + name.replace("_", "-"), meaning(name).replace("%", "%%")
        if kind is bool:
            groups[section].add_argument(option, action=argparse.BooleanOptionalAction, help=text)
        elif get_args(kind):
            groups[section].add_argument(option, nargs="+", metavar="PATH", help=text)
        else:
            groups[section].add_argument(option, type=kind, metavar=kind.__name__.upper(), help=text)


def _run(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--run",
        type=Path,
        default=DEFAULT_RUN,
        metavar="DIR",
        help=f"the folder of a training, or the file of a model (default: {DEFAULT_RUN})",
    )
    p.add_argument("--device", default="cpu", help='"cpu" (default), "cuda" or "cuda:1"')


def _search(p: argparse.ArgumentParser) -> None:
    p.add_argument("--beam", type=whole(), metavar="N", help="the width of the beam search; 1: greedy")
    p.add_argument("--length-penalty", type=float, metavar="ALPHA", help="a higher value favours longer translations")
    p.add_argument(
        "--coverage-penalty", type=float, metavar="BETA", help="a higher value leaves out less of the source"
    )
    p.add_argument(
        "--mbr",
        type=float,
        metavar="SHARPNESS",
        help="choose from the beam by minimum Bayes risk, with weights exp(SHARPNESS · score); 0: the best score",
    )
    p.add_argument("--batch", type=whole(), default=100, metavar="N", help="sentences at a time (100)")
    p.add_argument("--no-cache", action="store_true", help="compute everything again at each step")


def _translate(p: argparse.ArgumentParser) -> None:
    p.add_argument("sentences", nargs="*", help="sentences to translate; without any, lines are read")
    p.add_argument("--input", type=Path, metavar="FILE", help="a file of sentences, one per line (default: stdin)")
    p.add_argument("--output", type=Path, metavar="FILE", help="the file for translations (default: stdout)")
    _run(p)
    _search(p)
    p.add_argument(
        "--n-best",
        type=whole(),
        default=1,
        metavar="N",
        help="print the N best translations of the beam with their scores",
    )
    p.add_argument("--sample", type=float, metavar="TEMPERATURE", help="draw translations at random")
    p.add_argument("--top-k", type=whole(), metavar="K", help="draw from the K likeliest tokens")
    p.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the likeliest tokens with probability P together"
    )
    p.add_argument("--seed", type=int, default=0, help="of --sample (default: 0)")
    p.add_argument(
        "--attention",
        type=Path,
        metavar="FILE",
        help="write the attention: a page with all heads and beams (.html), or an image of their mean (.svg; .pdf "
        "and .png need the extra viz)",
    )
    p.add_argument(
        "--graph",
        type=Path,
        metavar="FILE.html",
        help="the same page beside the graph of each beam's loss, with links between the two",
    )


def _evaluate(p: argparse.ArgumentParser) -> None:
    _run(p)
    _search(p)
    p.add_argument("--data", nargs="+", type=Path, metavar="PATH", help="other pairs (default: those of the training)")
    p.add_argument("--split", default="test", choices=("validation", "test"), help="the part of them (default: test)")
    p.add_argument("--worst", type=int, default=5, metavar="N", help="show the N worst translations (default: 5)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, with all translations")


def _serve(p: argparse.ArgumentParser) -> None:
    _run(p)
    p.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
    p.add_argument("--port", type=int, default=8000, help="port to listen on; 0 takes a free one (default: 8000)")
    p.add_argument("--open", action="store_true", help="open the page in the browser")


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings from a preset or a file, and from options."""
    values = {name: getattr(options, name) for name in FIELDS if getattr(options, name) is not None}
    if "data" in values:
        values["data"] = tuple(values["data"])
        if options.config is None:
            values = {**languages(values["data"]), **values}
    if options.config is not None:
        start = read(options.config)
    elif options.preset is not None:
        start = preset(options.preset)
    else:
        start = Settings() if "data" in values else preset("toy")
    return start.changed(values)


def languages(data: tuple[str, ...]) -> dict[str, str]:
    """Source and target from file names, such as "a.en.gz b.fr"; a table has none, and a folder has many."""
    if len(data) == 1 and Path(data[0]).is_dir():
        return {}
    if len(data) == 2:
        endings = [Path(path.removesuffix(".gz")).suffix.removeprefix(".") for path in data]
        if all(2 <= len(ending) <= 3 and ending.isalpha() and ending != "txt" for ending in endings):
            return dict(zip(("source", "target"), endings, strict=True))
    return {"source": "source", "target": "target"}


def run_folder(options: argparse.Namespace, settings: Settings) -> Path:
    """The folder of a run: --run, or one that is named after preset and languages."""
    if options.run is not None:
        return Path(options.run)
    if not settings.data.data:
        return DEFAULT_RUN
    name = options.preset or (options.config.stem if options.config else "")
    return Path("runs") / "-".join(filter(None, (name, settings.data.source, settings.data.target)))


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    _open_streams()
    try:
        options = parser().parse_args(argv)
        status = COMMANDS[options.command](options)
        sys.stdout.flush()  # here, where errors are told
        return status
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    except MemoryError as error:
        print(f"error: not enough memory ({error}); a smaller --batch-tokens or --batch needs less", file=sys.stderr)
        return 1
    except (FileNotFoundError, ValueError, RuntimeError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        _give_up_streams()


def _open_streams() -> None:
    """Stand-ins for streams that were closed before the start (``2>&-``), which are None: ``print`` would write notes
    for stderr to stdout, among the translations."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (it lasts as long as the program)
            setattr(sys, name, stream)
            CLOSED.add(name)


def _give_up_streams() -> None:
    """Let Python flush nothing at its exit into a pipe that is closed, or onto a full disk: it would say so."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _do_train(options: argparse.Namespace) -> int:
    from .training import train

    settings = settings_of(options)
    return train(settings, run_folder(options, settings), options.fresh)


def _do_translate(options: argparse.Namespace) -> int:
    _check_output(options.output, "--output")
    if "stdin" in CLOSED and options.input is None and not options.sentences:
        raise OSError("standard input is closed: give sentences, or --input FILE")
    from .inference import translate

    return translate(options)


def _check_output(file: Path | None, option: str) -> None:
    """Raise OSError if what a command is there for would go nowhere."""
    if "stdout" in CLOSED and file is None:
        raise OSError(f"standard output is closed{option and f': give {option} FILE'}")


def _do_evaluate(options: argparse.Namespace) -> int:
    _check_output(options.json, "--json")
    from .inference import evaluate

    return evaluate(options)


def _do_serve(options: argparse.Namespace) -> int:
    from .serve import serve
    from .translator import Translator

    return serve(Translator.load(options.run, options.device), options.port, options.host, options.open)


def _do_config(options: argparse.Namespace) -> int:
    _check_output(None, "")
    if options.preset is None and options.config is None and options.data is None:
        options.preset = "toy"
    origin = options.config or (f"preset {options.preset}" if options.preset else "defaults with --data")
    print(as_toml(settings_of(options), f"Settings of examples.translate: {origin}"), end="")
    return 0


COMMANDS = {
    "train": _do_train,
    "translate": _do_translate,
    "evaluate": _do_evaluate,
    "serve": _do_serve,
    "config": _do_config,
}
