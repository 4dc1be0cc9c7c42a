"""The command line: print worked examples, and save their pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ..lesson import program
from ..lesson.blocks import Lesson

DEFAULT_RUN = Path("runs") / "toy"
LESSONS = {  # name: (module, topic)
    "chain-rule": ("chain_rule", "a product that vanishes or explodes: by hand, in deep chains, with shortcuts"),
    "dictionary": ("dictionary", "attention as a soft dictionary: d[q] by equality, by argmax, by softmax"),
    "self-attention": ("self_attention", "by hand on I like cats: Q, K, V, scores, softmax, output"),
    "softmax": ("softmax", "step by step; sharper versions, temperature, gradient"),
    "scaling": ("scaling", "why 1/√d: the variance of a dot product, measured"),
    "multi-head": ("multi_head", "on Your cat is a lovely cat, with shapes at every step"),
    "mixture": ("mixture", "the attention matrix of Your cat is a lovely cat, times V"),
    "causal-mask": ("causal_mask", "before and after softmax"),
    "positions": ("positions", "sinusoidal positional encoding: a table, a heat map, curves"),
    "counting": ("counting", "positions as 0, 1, 2 …, as fractions, as sines, added to your python code is gorgeous"),
    "permutation": ("permutation", "the order of the words is lost without positions, and kept with them"),
    "layer-norm": ("layer_norm", "of a batch of three, step by step"),
    "translation": ("translation", "training and inference of I love you very much → Ti amo molto, step by step"),
    "masking": ("masking", "BERT's masked words and GPT's causal mask, side by side"),
    "they": ("they", "where a trained translator's they attends; needs a run of minigrad_models.translation"),
}


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    about = "Worked examples of the transformer lectures; all numbers are computed by minigrad."
    p = program.parser("examples.lectures", about, seeded=False)
    p.add_argument("names", nargs="*", metavar="name", help="lessons to print (default: all; see --list)")
    p.add_argument("--list", action="store_true", help="list the lessons")
    run = f"the trained translator of the lesson they (default: {DEFAULT_RUN})"
    p.add_argument("--run", type=Path, metavar="DIR", help=run)
    return p


def make(name: str, run: Path = DEFAULT_RUN) -> Lesson:
    """Compute a lesson. Raises KeyError for an unknown lesson, and FileNotFoundError if the lesson's run is missing."""
    module = import_module(f".{LESSONS[name][0]}", __package__)
    lesson: Callable[..., Lesson] = module.lesson
    return lesson(run) if name == "they" else lesson()


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status, which is 1 if any claim of a lesson does not hold. Without a
    trained run, the lesson that needs one is skipped, unless the user requested it."""
    options = parser().parse_args(argv)
    return program.run(lambda: _shown(options))


def _shown(options: program.Options) -> int:
    if options.list:
        size = max(map(len, LESSONS))
        print("\n".join(f"{name:{size}}  {about}" for name, (_, about) in LESSONS.items()))
        return 0
    unknown = [name for name in options.names if name not in LESSONS]
    if unknown:
        print(f"error: unknown lesson {', '.join(unknown)}; choose from {', '.join(LESSONS)}", file=sys.stderr)
        return 2
    program.make_folder(options.save)
    requested = bool(options.names) or options.run is not None
    status = 0
    for name in options.names or LESSONS:
        try:
            lesson = make(name, options.run or DEFAULT_RUN)
        except FileNotFoundError as error:
            if requested:
                raise
            print(f"skipped {name}: {error}", file=sys.stderr)
        else:
            status = max(status, program.show(lesson, options.save))
    return status


if __name__ == "__main__":
    sys.exit(main())
