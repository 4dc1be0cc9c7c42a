"""``python -m tests.ecosystem``: see the package's docstring for its arguments."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import describe

from . import __doc__ as usage, environments, report
from .table import HERE, Library, libraries
from .trial import Trial, attempt, install_and_try, wrong


def main() -> int:
    """Try the libraries. Returns 1 if a verdict contradicts the table."""
    options = _parser().parse_args()
    if unknown := [name for name in options.names if name not in libraries()]:
        sys.exit(f"{unknown[0]!r} is not in libraries.toml")
    rows = [row for row in libraries().values() if (not options.sample or row.sample)]
    rows = [row for row in rows if not options.names or row.name in options.names]
    if missing := [row.name for row in rows if not row.program.exists()]:
        print(f"without an example: {', '.join(missing)}")
    rows = [row for row in rows if row.program.exists()]
    in_place = ((row, attempt(row, *options.environments)) for row in rows)
    trials = {}
    for row, trial in in_place if options.environments else _installed(rows, options.keep):
        trials[row.name] = trial
        _tell(row, trial, options.verbose)
        if options.write:
            report.record({row.name: trial}, describe("torch"))
            report.write()
    bad = [name for name, trial in trials.items() if wrong(libraries()[name], trial)]
    right = sum(trial.verdict == "right" for trial in trials.values())
    print(f"{right} of {len(trials)} are right" + (f"; not as the table says: {', '.join(bad)}" if bad else ""))
    return 1 if bad or missing else 0


def _installed(rows: list[Library], keep: Path | None) -> Iterator[tuple[Library, Trial]]:
    """The trials of libraries, each in new environments, which are removed afterwards."""
    if environments.uv() is None:
        sys.exit("uv creates the environments, but it is not installed: pip install uv")
    if environments.torch_version() is None:
        sys.exit("minigrad is compared with PyTorch, which is not installed here: pip install torch")
    with tempfile.TemporaryDirectory(prefix="ecosystem-", ignore_cleanup_errors=True) as temporary:
        place = (keep or Path(temporary)).resolve()
        if HERE.parents[1] in [place, *place.parents]:
            sys.exit("the folder must be outside the checkout")
        place.mkdir(parents=True, exist_ok=True)
        wheel = environments.build(place)
        for row in rows:
            folder = place / (row.name if keep else "environment")  # at one path: see ``attempt``
            folder.mkdir(exist_ok=True)
            yield row, install_and_try(row, wheel, folder)
            if keep is None:
                shutil.rmtree(folder, ignore_errors=True)


def _tell(library: Library, trial: Trial, verbose: bool) -> None:
    """Print the line of a library."""
    theirs, ours = trial.seconds
    seconds = f"{theirs:7.2f} s on torch, {ours:7.2f} s here"
    print(f"{library.name:28} {trial.verdict:8} {trial.difference:.1e} {seconds}  {trial.why}", flush=True)
    if verbose and trial.log:
        print(trial.log, flush=True)
    if complaint := wrong(library, trial):
        print(f"    wrong: {complaint}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.ecosystem", description=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of libraries; all by default")
    parser.add_argument("--sample", action="store_true", help="only the libraries that CI runs")
    parser.add_argument("--write", action="store_true", help="write results.json and docs/ecosystem.md")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="create the environments there, and keep them")
    parser.add_argument("--verbose", action="store_true", help="also print output of failed examples, differences")
    help_in = "Pythons of two environments that have the libraries: nothing is installed"
    parser.add_argument("--in", nargs=2, type=Path, metavar=("TORCH", "MINIGRAD"), dest="environments", help=help_in)
    return parser


if __name__ == "__main__":
    sys.exit(main())
