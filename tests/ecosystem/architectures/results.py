"""The results of all architectures as one file, which docs/ecosystem.md is written from.

    python -m tests.ecosystem.architectures.results DIR ...

gathers what runs left in folders; the later folder counts.
"""

import json
import sys
from pathlib import Path
from typing import Any

from .find import KINDS

FILE = Path(__file__).with_name("results.json")
SIDES = ("torch", "minigrad", "back")


def gather(folders: list[Path]) -> dict[str, dict[str, str]]:
    """Of each type that was tried its class, the side that does not run or agree ("" if all do), and why."""
    found: dict[str, dict[str, str]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.torch.json")):
            kind = file.name.removesuffix(".torch.json")
            replies = {side: _reply(folder / f"{kind}.{side}.json") for side in SIDES}
            side = next((side for side in SIDES if not replies[side]["ok"]), "")
            why = replies[side]["why"] if side else ""
            found[kind] = {"class": replies["torch"].get("class", ""), "side": side, "why": why}
    return dict(sorted(found.items()))


def _reply(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"ok": False, "why": "was not tried"}


def section(found: dict[str, dict[str, str]]) -> str:
    """The page's section: how many hold, which, and what the others say."""
    held = [kind for kind, row in found.items() if not row["side"]]
    ours = {kind: row for kind, row in found.items() if row["side"] in ("minigrad", "back")}
    theirs = [kind for kind, row in found.items() if row["side"] == "torch"]
    kinds = sum(kind in held for kind in KINDS)
    parts = [
        "## Architectures of transformers\n",
        "PyTorch creates and saves each with a small random configuration, and minigrad loads it by `from_pretrained`.",
        "Logits, all gradients, five steps of AdamW, ids of greedy and beam search for models that generate, and",
        "the model that PyTorch loads from minigrad's files must be equal (to 1e-4).",
        "[tests/ecosystem/architectures](../tests/ecosystem/architectures) finds the configurations.\n",
        f"{len(held)} of the {len(held) + len(ours)} that PyTorch runs this way agree ({kinds} of 40 common ones).\n",
        f"<details><summary>The {len(held)} that agree</summary>\n\n{', '.join(held)}\n\n</details>\n",
    ]
    if ours:
        parts.append("| architecture | what differs |\n|---|---|")
        parts += [f"| {kind} | {cell(row['why'])[:200]} |" for kind, row in ours.items()]
    if theirs:
        parts.append(f"\nPyTorch itself does not run {len(theirs)} with such a configuration: {', '.join(theirs)}.")
    return "\n".join(parts)


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    text = json.dumps(gather([Path(folder) for folder in sys.argv[1:]]), indent=0, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8", newline="\n")
