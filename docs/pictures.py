"""Makes docs/attention.png: what a trained translator looks at in the source for each word it writes.

    python docs/pictures.py [--checkpoint FILE] [--sentence TEXT] [--output FILE]

It needs matplotlib (the extra "pictures") and a trained model (python -m examples.translate).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import minigrad as mg  # noqa: E402
from examples.translate import checkpoint  # noqa: E402
from minigrad.nn import functional as F  # noqa: E402
from minigrad.text import Tokenizer  # noqa: E402
from models.transformer import BOS, EOS, Transformer  # noqa: E402

SENTENCE = "My friends like tomatoes because they are tasty."


def options() -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(description="Draw a trained translator's attention over the source words.")
    p.add_argument("--checkpoint", type=Path, default=ROOT / "checkpoints" / "english-italian.safetensors")
    p.add_argument("--sentence", default=SENTENCE)
    p.add_argument("--output", type=Path, default=ROOT / "docs" / "attention.png")
    return p.parse_args()


@mg.no_grad()
def cross_attention(
    model: Transformer, tokenizer: Tokenizer, sentence: str
) -> tuple[list[str], list[str], list[list[float]]]:
    """Source tokens (S), target tokens (T), and what each target token took from each source token (T, S).

    The last decoder layer's cross-attention, the mean over its heads, at the position that wrote the token.
    """
    source = mg.tensor([[*tokenizer.encode(tokenizer.prepare(sentence)), EOS]])
    target = model.greedy(source)
    memory, mask = model.encode(source)
    seen: dict[str, mg.Tensor] = {}
    layer = model.decoder[-1].cross_attention

    def note(module: Any, inputs: tuple[Any, ...]) -> None:
        q, k = module.split(module.query(inputs[0])), module.split(module.key(inputs[1]))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5  # (1, H, T, S)
        seen["weights"] = F.softmax(scores.masked_fill(~mask, float("-inf")), -1).mean(1)[0]

    handle = layer.register_forward_pre_hook(note)
    model.decode(mg.cat((mg.full((1, 1), BOS), target[:, :-1]), 1), memory, mask)
    handle.remove()
    names = [
        ["⟨end⟩" if i == EOS else tokenizer.token(i) for i in ids[0]]
        for ids in (source.tolist(), target.tolist())
    ]
    return names[0], names[1], seen["weights"].tolist()


def draw(source: list[str], target: list[str], weights: list[list[float]], output: Path) -> None:
    """The weights as a heat map, readable on light and dark pages."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 5.6), dpi=100, facecolor="white")
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(source)), source, rotation=45, ha="left", fontsize=11)
    axes.set_yticks(range(len(target)), target, fontsize=11)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for row, values in enumerate(weights):
        for column, value in enumerate(values):
            if value >= 0.05:
                axes.text(
                    column,
                    row,
                    f"{value:.2f}".lstrip("0"),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if value > 0.55 else "black",
                )
    axes.set_ylabel("written")
    figure.tight_layout()
    figure.savefig(output, metadata={"Software": None})
    pyplot.close(figure)


def main() -> None:
    """Draw, and say where."""
    given = options()
    model, tokenizer, _ = checkpoint.load(given.checkpoint, "cpu")
    draw(*cross_attention(model.eval(), tokenizer, given.sentence), given.output)
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
