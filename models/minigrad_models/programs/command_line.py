"""Code shared by the command lines of training programs: options for settings, streams, and one-line errors."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, get_args

from .models import check_device
from .options import device, whole
from .settings import Sections

if TYPE_CHECKING:
    from .folder import Program

S = TypeVar("S", bound=Sections)
RAW = argparse.RawDescriptionHelpFormatter
Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An ``argparse`` parser that suggests the nearest command, choice or option for a misspelled name."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, others = self.parse_known_args(args, namespace)
        if others:
            names = getattr(options, "parser", self)._option_string_actions  # the options of the chosen command
            self.error(f"unrecognized arguments: {' '.join(others)}", others[0].partition("=")[0], names)
        return options

    def error(self, message: str, word: str = "", names: Iterable[str] = ()) -> NoReturn:
        """End the program with status 2. The message suggests the name nearest to a word, if any is close."""
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            word, names = choice[1], choice[2].replace("'", "").split(", ")
        near = difflib.get_close_matches(word, [*names], 1)
        quote = "'" if choice else ""
        super().error(message + (f"; do you mean {quote}{near[0]}{quote}?" if near else ""))


class Command(NamedTuple):
    """One of a program's commands."""

    name: str
    help: str  # one line
    add: Callable[[argparse.ArgumentParser], object]  # adds its options to its parser
    run: Run  # runs the command, and returns the exit status


def parser_of(prog: str, description: str, examples: str, commands: Iterable[Command]) -> Parser:
    """The parser of the program ``prog``, with examples after the options. ``act`` runs the chosen command, or prints
    the help if there is none."""
    p = Parser(prog=prog, description=description, epilog=examples, formatter_class=RAW)
    p.set_defaults(act=lambda options: p.parse_args(["--help"]))
    parsers = p.add_subparsers(dest="command", metavar="command")
    for command in commands:
        about = command.help[0].upper() + command.help[1:] + "."
        own = parsers.add_parser(command.name, help=command.help, description=about, formatter_class=RAW)
        command.add(own)
        own.set_defaults(act=command.run, parser=own)
    return p


def act(parser: argparse.ArgumentParser, arguments: list[str] | None) -> int:
    """Run the chosen command and return the exit status. The command gets the arguments, or those of the process if
    ``arguments`` is None, as ``options.words``."""
    options = parser.parse_args(arguments)
    options.words = sys.argv[1:] if arguments is None else arguments
    status: int = options.act(options)
    return status


def program(
    prog: str, description: str, examples: str, commands: Iterable[Command], less_memory: str
) -> tuple[Callable[[], Parser], Callable[[list[str] | None], int]]:
    """Returns two functions: one builds a program's parser, the other runs its command line and returns the exit
    status. See ``parser_of``, ``act`` and ``run_program``."""
    parser = partial(parser_of, prog, description, examples, commands)
    return parser, lambda arguments: run_program(lambda: act(parser(), arguments), less_memory)


def add_run(p: argparse.ArgumentParser, default: Path, what: str = "a run folder or a model file") -> None:
    """Add the options for a trained model and its device."""
    p.add_argument("--run", type=Path, default=default, metavar="DIR", help=f"{what} (default: {default})")
    add_device(p)


def add_device(p: argparse.ArgumentParser) -> None:
    """Add the option for a model's device."""
    p.add_argument("--device", type=device, default="cpu", help='"cpu" (default), "cuda" or "cuda:1"')


def add_windows(p: argparse.ArgumentParser, stride: str) -> None:
    """Add the options for evaluating in windows (see ``programs.validation``). ``stride`` describes its default."""
    p.add_argument(
        "--window", type=whole(), default=0, metavar="N", help="window length in tokens (default: as in training)"
    )
    moves = f"tokens by which it moves; a smaller stride gives each token more context (default: {stride})"
    p.add_argument("--stride", type=whole(), default=0, metavar="N", help=moves)
    add_file(p, "--json", "write the numbers as JSON")


def print_numbers(numbers: Mapping[str, float], file: Path | None) -> int:
    """Print named numbers, one per line, and write them to ``file`` as JSON unless it is None. Returns the exit status.
    Raises OSError if they cannot be written."""
    width = max(map(len, numbers)) + 2
    print("\n".join(f"{name.replace('_', ' '):<{width}} {value:,.6g}" for name, value in numbers.items()))
    if file is not None:
        file.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    return 0


def add_file(p: argparse.ArgumentParser, name: str, meaning: str) -> None:
    """Add an option for a file, None by default."""
    p.add_argument(name, type=Path, metavar="FILE", help=meaning)


def training_commands(
    module: str,
    kind: type[Sections],
    settings_of: Callable[..., Any],
    folder: Callable[[argparse.Namespace, Any], Path],
    names: str,
    default: str,
    **options: str,
) -> tuple[Command, Command]:
    """The ``train`` and ``config`` commands of a module with ``PROGRAM`` and ``train``. ``settings_of(options,
    PROGRAM)`` returns the settings, ``folder`` the run folder (named after ``names``). See also ``add_settings``."""

    def train(o: argparse.Namespace) -> int:
        from .start_training import train_as_ranks

        check_device(o.device or "cpu")  # raises all errors before anything is read or changed
        run = import_module(f"minigrad_models.{module}")
        settings = settings_of(o, run.PROGRAM)
        return train_as_ranks(run.PROGRAM, o, settings, folder(o, settings), run.train)

    def config(o: argparse.Namespace) -> int:
        origin = o.config or f"preset {o.preset or default}"
        print(settings_of(o).as_toml(f"Settings of {o.parser.prog.replace('config', 'train')}: {origin}"), end="")
        return 0

    def add(p: argparse.ArgumentParser) -> None:
        folder = f"run folder (default: in runs/, named after the {names})"
        p.add_argument("--run", type=Path, metavar="DIR", help=folder)
        p.add_argument("--fresh", action="store_true", help="start over, after renaming the earlier run in the folder")
        add_settings(p, kind, default, **options)

    show = lambda p: add_settings(p, kind, default, **options)
    texts = "train a model, or resume training", "print all training settings as a configuration file"
    return Command("train", texts[0], add, train), Command("config", texts[1], show, config)


def add_settings(p: argparse.ArgumentParser, kind: type[Sections], default: str, **options: str) -> None:
    """Add options for a preset, a configuration file, and each setting. ``default`` is the help's default preset.
    ``options`` maps settings to the names of their options, where these differ."""
    base = p.add_mutually_exclusive_group()
    presets = ", ".join(kind.preset_names())
    base.add_argument("--preset", metavar="NAME", help=f"start from a preset: {presets} (default: {default})")
    base.add_argument("--config", type=Path, metavar="FILE", help="start from a TOML file, as printed by config")
    groups: dict[str, Any] = {}
    for name, (section, of, _) in kind.fields().items():
        if section not in groups:
            groups[section] = p.add_argument_group(f"settings: {section}")
        option = "--" + options.get(name, name).replace("_", "-")
        text: dict[str, Any] = {"dest": name, "help": kind.meaning(name).replace("%", "%%")}
        if of is bool:
            groups[section].add_argument(option, action=argparse.BooleanOptionalAction, **text)
        elif get_args(of):
            groups[section].add_argument(option, nargs="+", metavar="PATH", **text)
        else:
            groups[section].add_argument(option, type=of, metavar=of.__name__.upper(), **text)


def values_of(options: argparse.Namespace, kind: type[Sections]) -> dict[str, Any]:
    """The settings specified by the options."""
    return {name: getattr(options, name) for name in kind.fields() if getattr(options, name) is not None}


def settings_of(
    options: argparse.Namespace,
    program: Program | None = None,
    *,
    kind: type[S],
    default: str,
    folder: Callable[[argparse.Namespace, Any], Path],
    sizes: Callable[..., dict[str, Any]] | None = None,
    suited: Callable[[dict[str, Any]], S] | None = None,
    values: dict[str, Any] | None = None,
) -> S:
    """The settings of a training run. They come from ``--config`` or ``--preset``. Without these two options, they come
    from the run in ``folder`` that the ``program`` resumes, from settings ``suited`` to the values, or from the default
    preset. ``values`` (by default the options) override them. With a preset, a resumed run keeps its number of updates.
    Raises ValueError unless they match the ``sizes`` of an initial model (the ``start`` setting)."""
    values, begins = values or values_of(options, kind), options.preset is None and options.config is None
    start = kind.read(options.config) if options.config else kind.preset(options.preset or default)
    data = {name: value for name, value in values.items() if kind.fields()[name][0] == "data"}
    earlier = program and not options.fresh and program.begun(folder(options, start.changed(data)))
    then: Any = earlier and earlier[0]
    if then and begins:
        return start.changed({**then.without({"device", "minutes"}), **values})
    values = {**({"steps": then.training.steps} if then and options.preset else {}), **values}
    if sizes is not None and (path := values.get("start", start.model.start)):  # type: ignore[attr-defined]
        for name, value in sizes(Path(path)).items():
            if values.setdefault(name, value) != value:
                raise ValueError(f"--{name.replace('_', '-')} {values[name]}, but the model in {path} has {value}")
    return suited(values) if suited and begins else start.changed(values)


def folder_of(options: argparse.Namespace, default: str, *names: str) -> Path:
    """The folder of a run: ``--run``, or one in runs/ named after the preset or configuration file, and ``names``."""
    if options.run is not None:
        return Path(options.run)
    name = options.preset or (options.config.stem if options.config else default)
    return Path("runs") / "-".join(dict.fromkeys(filter(None, (name, *names))))


def later(path: str) -> Callable[..., Any]:
    """A function such as "music.files.roll" whose module is imported when it is called, so that ``--help`` is fast."""
    module, _, name = path.rpartition(".")
    return lambda *options: getattr(import_module(f"minigrad_models.{module}"), name)(*options)


def run_program(program: Callable[[], int], less_memory: str) -> int:
    """Run a program and return its exit status. Errors that a user can fix are printed as one line on stderr.
    ``less_memory`` names options whose smaller values use less memory."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before the start: ``print`` would write notes for stderr to stdout
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 (as long as the program)
    try:
        status = program()
        sys.stdout.flush()  # here, where errors are reported
        return status
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    except MemoryError as error:
        print(f"error: not enough memory ({error}); try a smaller {less_memory}", file=sys.stderr)
        return 1
    except (FileNotFoundError, ValueError, RuntimeError, ImportError, OSError) as error:
        parts: list[Any] = [error]
        if isinstance(error, OSError) and error.strerror:  # without errno
            parts = [part for part in (error.filename, error.strerror) if part is not None]
        print(f"error: {': '.join(map(str, parts))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):  # a closed pipe, a full disk: Python would complain at exit
                with suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
