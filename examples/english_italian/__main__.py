"""Write the corpus that minigrad ships, or print other sentences from the grammar."""

from __future__ import annotations

import gzip

from minigrad_models.programs.command_line import Parser
from minigrad_models.translation import english_italian

from .corpus import draw, shipped


def main() -> None:
    """Run the command."""
    parser = Parser(prog="python -m examples.english_italian", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", help="number of pairs to print; by default, write the corpus")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other sentences (default 0)")
    args = parser.parse_args()
    if args.count is not None:
        for pair in draw("train", args.count, args.seed):
            print(pair.source, pair.target, sep="\t")
        return
    lines = [f"{split}\t{p.source}\t{p.target}\n" for split, pairs in shipped().items() for p in pairs]
    data = gzip.compress("".join(sorted(lines)).encode(), mtime=0)
    english_italian.CORPUS.write_bytes(data)
    print(f"{english_italian.CORPUS}: {len(lines):,} pairs, {len(data):,} bytes")


if __name__ == "__main__":
    main()
