"""What ``python -m examples.translate`` takes, and what it does with it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

EXAMPLES = """
examples:
  python -m examples.translate                          train English to Italian (some minutes on 2 cores)
  python -m examples.translate "I like cats"            translate with what was trained
  python -m examples.translate --resume                 go on where a training was stopped
  python -m examples.translate --data corpus.tsv        train on your own sentence pairs, with subwords
  python -m examples.translate --data DIR --source en --target de     ... from DIR/train.en and DIR/train.de
  python -m examples.translate --data a.en.gz b.de.gz   ... from two files, line by line
"""


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    p = argparse.ArgumentParser(
        prog="python -m examples.translate",
        description="Train a transformer to translate, and translate with it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("sentences", nargs="*", help="sentences to translate; without any, a model is trained")
    p.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="where the model is saved and found (default: checkpoints/english-italian.safetensors, or "
        "checkpoints/SOURCE-TARGET.safetensors with --data)",
    )
    p.add_argument("--device", default="cpu", help='"cpu" (default), "cuda" or "cuda:1"')
    p.add_argument("--seed", type=int, default=0, help="the same seed gives the same model (default: 0)")
    p.add_argument(
        "--beam",
        type=_positive,
        default=1,
        metavar="N",
        help="follow the N likeliest translations (default: 1, greedy)",
    )
    p.add_argument("--sample", type=float, metavar="TEMPERATURE", help="draw translations at random")
    p.add_argument(
        "--bleu-tokenize",
        choices=("13a", "none", "intl", "char"),
        default="13a",
        help='how sacrebleu splits words; "none" for text that is tokenised already (default: 13a)',
    )
    data = p.add_argument_group("training data")
    data.add_argument(
        "--data",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a folder, a .tsv table, or two aligned files; gzipped or not (default: the corpus that "
        "ships with minigrad)",
    )
    data.add_argument("--source", default="en", help="in a folder, the source files' ending (default: en)")
    data.add_argument("--target", default="de", help="in a folder, the target files' ending (default: de)")
    data.add_argument(
        "--subwords",
        type=_positive,
        default=10_000,
        metavar="N",
        help="size of the subword vocabulary that both languages share (default: 10000)",
    )
    t = p.add_argument_group("training")
    t.add_argument("--steps", type=_positive, help="how many updates (default: 1100, with --data 8000)")
    t.add_argument("--minutes", type=float, help="stop after so many minutes of training")
    t.add_argument(
        "--batch-tokens", type=_positive, metavar="N", help="at most so many tokens a side in a batch"
    )
    t.add_argument("--learning-rate", type=float, metavar="LR", help="the highest learning rate")
    t.add_argument("--dropout", type=float, help="probability of dropout")
    t.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint, exactly where it stopped"
    )
    return p


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = parser().parse_args(argv)
    if options.checkpoint is None:
        name = f"{options.source}-{options.target}" if options.data else "english-italian"
        options.checkpoint = Path("checkpoints") / f"{name}.safetensors"
    try:
        if options.sentences:
            from .inference import translate_sentences

            return translate_sentences(options)
        from .training import train

        return train(options)
    except (FileNotFoundError, ValueError, RuntimeError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
