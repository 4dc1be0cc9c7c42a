"""Models: building them, inspecting them, and changing their computation."""

from pathlib import Path

from book import command, python, step

import minigrad as mg
from minigrad import nn, viz


def model() -> nn.Module:
    """A small transformer encoder layer."""
    mg.manual_seed(0)
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()


@step("viz.trace: any intermediate value by name")
def _() -> None:
    run = viz.trace(model(), mg.randn(1, 5, 8))
    weights = run["self_attn.weights"]
    assert weights.shape[-2:] == (5, 5) and mg.allclose(weights.sum(-1), mg.ones(weights.shape[:-1]))
    assert any("linear1" in name for name in run), list(run)


@step("attention of a user's model, and backward step by step")
def _() -> None:
    net, x = model(), mg.randn(1, 5, 8)
    viz.attention(net, x).save("attention.html")
    viz.playback(net(x).sum()).save("playback.html")


@step("a program for PyTorch runs unchanged: minigrad compat program.py")
def _() -> None:
    Path("theirs.py").write_text(
        "import sys\nimport torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "print(nn.Linear(2, 1)(torch.ones(1, 2)).shape, sys.argv[1:])\n",
        encoding="utf-8",
    )
    assert command("minigrad", "compat", "theirs.py", "--lr", "1").strip() == "torch.Size([1, 1]) ['--lr', '1']"


@step("the README's import: minigrad as torch")
def _() -> None:
    output = python(
        "import minigrad as torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)"
    )
    assert output.strip() == "tensor([2., 2.])"


@step("a language model for a user's text: minigrad gpt")
def _() -> None:
    Path("text.txt").write_text("to be or not to be, that is the question. " * 100, encoding="utf-8")
    small = [
        "--layers",
        "1",
        "--d-model",
        "16",
        "--heads",
        "2",
        "--context",
        "16",
        "--batch",
        "8",
        "--steps",
        "5",
        "--warm-up",
        "1",
    ]
    command("minigrad", "gpt", "train", "--input", "text.txt", "--run", "gpt", *small)
    assert command("minigrad", "gpt", "generate", "--run", "gpt", "--prompt", "to be", "--tokens", "20")
