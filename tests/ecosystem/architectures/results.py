"""The results of all architectures in one file, the source of docs/ecosystem.md.

    python -m tests.ecosystem.architectures.results DIR ...

collects the results of runs from their folders; later folders take precedence.
"""

import json
import sys
from pathlib import Path
from typing import Any

from .find import KINDS

FILE = Path(__file__).with_name("results.json")
SIDES = ("torch", "minigrad", "back")


def gather(folders: list[Path]) -> dict[str, dict[str, str]]:
    """For each tried type its class, the side that does not run or agree ("" if all do), and the reason."""
    rows: dict[str, dict[str, str]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.torch.json")):
            kind = file.name.removesuffix(".torch.json")
            replies = {side: _reply(folder / f"{kind}.{side}.json") for side in SIDES}
            side = next((side for side in SIDES if not replies[side]["ok"]), "")
            why = replies[side]["why"] if side else ""
            rows[kind] = {"class": replies["torch"].get("class", ""), "side": side, "why": why}
    return dict(sorted(rows.items()))


def _reply(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"ok": False, "why": "was not tried"}


def section(rows: dict[str, dict[str, str]]) -> str:
    """The page's section: how many architectures work, which, and the errors of the others."""
    good = [kind for kind, row in rows.items() if not row["side"]]
    ours = {kind: row for kind, row in rows.items() if row["side"] in ("minigrad", "back")}
    theirs = [kind for kind, row in rows.items() if row["side"] == "torch"]
    kinds = sum(kind in good for kind in KINDS)
    parts = [
        "## Architectures of transformers\n",
        "PyTorch creates each with a small random configuration and saves it; minigrad loads it by `from_pretrained`.",
        "Logits, all gradients, five steps of AdamW, and ids of greedy and beam search of models that generate must be",
        "equal (to 1e-4), and so must PyTorch's outputs of the model that minigrad saved again.",
        "[tests/ecosystem/architectures](../tests/ecosystem/architectures) finds the configurations.\n",
        f"{len(good)} of the {len(good) + len(ours)} that PyTorch itself runs work, of forty common ones {kinds}.\n",
        f"<details><summary>The {len(good)} that work</summary>\n\n{', '.join(good)}\n\n</details>\n",
    ]
    if ours:
        parts.append("| architecture | difference |\n|---|---|")
        parts += [f"| {kind} | {cell(row['why'])[:200]} |" for kind, row in ours.items()]
    if theirs:
        parts.append(f"\nPyTorch does not run {len(theirs)} with such a configuration: {', '.join(theirs)}.")
    return "\n".join(parts)


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    text = json.dumps(gather([Path(folder) for folder in sys.argv[1:]]), indent=0, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8", newline="\n")
