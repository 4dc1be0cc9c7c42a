"""Trains variants of a preset, one after another, and prints a table of the results.

    python -m examples.ablations
    python -m examples.ablations --preset multi30k --data DIR --steps 2000 --folder runs/multi30k

A variant has a name, and settings that differ from those of the preset. Unknown options are passed to each training
run. Each variant has its own run folder, and their parent folder contains the table, ablations.md. You can stop the
program at any time and resume it with the same command.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minigrad_models.commands import minigrad_command as command
from minigrad_models.programs.command_line import Parser
from minigrad_models.training import read_log
from minigrad_models.translation import translation_command as cli
from minigrad_models.translation.translation_settings import FIELDS, Settings, preset_names

from .variants import SPLITS, begun, finished, slug, train_all

VARIANTS = Path(__file__).with_suffix(".toml")
# Without a preset: a short training run of each of these variants, on the bundled corpus
SHORT = ["--preset", "toy", "--steps", "120", "--warm-up", "20"]
FEW = ["the preset", "dropout 0.1", "no label smoothing", "sinusoidal positions"]


def parser() -> Parser:
    """The command line. Unknown options are passed to ``train``."""
    about = (
        "Train variants of a preset, one after another, and print a table. Without --preset: four variants, briefly, "
        "on the bundled corpus. Other options go to each training run: --data DIR --target de --steps 2000 ..."
    )
    file = "a TOML file with a section per variant: its quoted name, then settings as in a preset, without sections"
    p = Parser(prog="python -m examples.ablations", description=about, allow_abbrev=False)
    p.add_argument("--preset", choices=preset_names(), help="settings that the variants change (default: toy)")
    folder = Path("runs") / "ablations"
    p.add_argument("--folder", type=Path, default=folder, metavar="DIR", help=f"folder of the runs (default: {folder})")
    p.add_argument("--variants", type=Path, default=VARIANTS, metavar="FILE", help=file)
    p.add_argument("--only", nargs="+", metavar="NAME", help="only these variants")
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the program. Returns the exit status: 1 if a variant failed, 130 after Ctrl-C."""
    options, others = parser().parse_known_args(argv)
    common = [*(["--preset", options.preset] if options.preset else SHORT), *others]
    only = options.only or (FEW if not options.preset and options.variants == VARIANTS else None)
    try:
        variants = chosen(read_variants(options.variants), settings_of(common), only)
        status = train_all(variants, common, options.folder, lambda: write_table(variants, options.folder))
        print(write_table(variants, options.folder))
        return status
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def settings_of(options: list[str]) -> Settings:
    """The settings shared by all variants. Raises SystemExit for options that ``train`` does not have, and ValueError
    for options that this program sets."""
    namespace = command.parser().parse_args(["train", *options])
    if namespace.run is not None or namespace.fresh:
        raise ValueError("each variant has its own folder in --folder: omit --run and --fresh")
    return cli.settings_of(namespace)


def read_variants(path: Path = VARIANTS) -> dict[str, dict[str, Any]]:
    """The variants in a TOML file. Raises FileNotFoundError if it is missing, and ValueError if it has no variants."""
    try:
        variants = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    for name, settings in variants.items():
        if not isinstance(settings, dict):
            raise ValueError(f'{path}: {name} is not a section; a variant is ["name"], with its settings below it')
    return variants


def chosen(
    variants: dict[str, dict[str, Any]], start: Settings, only: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """The selected variants, without those whose settings do not change anything (unless they have no settings). Raises
    ValueError for an unknown variant or setting, a value out of range, or two variants with the same folder."""
    if only:
        if unknown := [name for name in only if name not in variants]:
            raise ValueError(f"unknown variant {unknown[0]!r}; choose from: {', '.join(map(repr, variants))}")
        variants = {name: variants[name] for name in only}
    selected: dict[str, dict[str, Any]] = {}
    folders: dict[str, str] = {}
    for name, settings in variants.items():
        for setting in settings:
            if setting not in FIELDS:
                raise ValueError(f"variant {name!r}: unknown setting {setting!r}")
        if settings and start.changed(settings) == start:
            continue
        if slug(name) in folders:
            raise ValueError(f"{name!r} and {folders[slug(name)]!r} would share the folder {slug(name)}")
        folders[slug(name)] = name
        selected[name] = settings
    return selected


def row(name: str, where: Path) -> tuple[list[str], str]:
    """The table cells of a variant, read from its folder, and its BLEU signature. The loss, in nats per token, is from
    the last validation. It is more precise than BLEU, but comparable only if the vocabularies are the same."""
    log = read_log(where) if begun(where) else []
    bleu, measure = dict.fromkeys(SPLITS, ""), ""
    for split in SPLITS:
        if (where / f"{split}.json").exists():
            report = json.loads((where / f"{split}.json").read_text(encoding="utf-8"))
            score = report["moses"] or report["bleu"]
            # without the part of the signature for the interval
            bleu[split], measure = f"{score['value']:.2f}", re.sub(r"\|bs:\d+\|seed:\d+", "", score["signature"])
    state = "" if finished(where) else " (not finished)" if log else " (not begun)"
    progress = [f"{log[-1]['step']:,}", f"{log[-1]['seconds'] / 60:.1f}"] if log else ["", ""]
    losses = [f"{line['evaluation']['loss']:.3f}" for line in log if "evaluation" in line]
    title = name.replace("|", r"\|") + state
    return [title, *progress, losses[-1] if losses else "", *bleu.values()], measure


def write_table(variants: dict[str, dict[str, Any]], folder: Path) -> str:
    """The table of all variants in Markdown, with the BLEU signatures below it. Also writes it to the folder."""
    rows, measures = zip(*(row(name, folder / slug(name)) for name in variants), strict=True)
    heads = ("variant", "updates", "minutes", "validation loss", "validation BLEU", "test BLEU")
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    lines.insert(1, "|---" + "|---:" * (len(heads) - 1) + "|")
    text = "\n".join([*lines, *(f"\nBLEU: `{measure}`" for measure in dict.fromkeys(filter(None, measures)))])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ablations.md").write_text(text + "\n", encoding="utf-8")
    return text


if __name__ == "__main__":
    sys.exit(main())
