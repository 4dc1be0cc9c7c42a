"""Generates docs/attention.svg: a trained translator's attention to the source words for each target word.

    python docs/pictures.py [--run DIR] [--sentence TEXT] [--output FILE]

It needs a trained model (minigrad train), and for PDF or PNG the extra "viz".
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from minigrad_models.translation.translator import Translator  # noqa: E402

SENTENCE = "My friends like tomatoes because they are tasty."


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description="Draw a trained translator's attention over the source words.")
    p.add_argument("--run", type=Path, default=ROOT / "runs" / "toy", help="a run folder, or a model")
    p.add_argument("--sentence", default=SENTENCE)
    p.add_argument("--output", type=Path, default=ROOT / "docs" / "attention.svg")
    return p


def main(argv: list[str] | None = None) -> None:
    """Draw the last decoder layer's cross-attention, averaged over its heads, and print the path."""
    options = parser().parse_args(argv)
    translator = Translator.load(options.run)
    (translation,) = translator.translate([options.sentence])
    translator.look(translation).save(options.output, "matrix", kind="cross", layer=-1)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
