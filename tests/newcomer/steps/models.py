"""Models: what they are made of, what happens in them, and how to change it."""

from __future__ import annotations

from pathlib import Path

from book import command, python, step

import minigrad as mg
from minigrad import nn, viz


def model() -> nn.Module:
    """A transformer's encoder layer, small."""
    mg.manual_seed(0)
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()


@step("minigrad.summary: modules, shapes, parameters, multiplications")
def _() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    told = str(mg.summary(net, mg.ones(5, 4)))
    for text in ("Linear", "ReLU", "(5, 8)", "(5, 2)", "58"):  # 4·8 + 8 + 8·2 + 2 parameters
        assert text in told, told


@step("viz.trace: any intermediate by its name")
def _() -> None:
    run = viz.trace(model(), mg.randn(1, 5, 8))
    weights = run["self_attn.weights"]
    assert weights.shape[-2:] == (5, 5) and mg.allclose(weights.sum(-1), mg.ones(weights.shape[:-1]))
    assert any("linear1" in name for name in run), list(run)


@step("viz.trace: an intermediate replaced changes the output, and gradients go through the change")
def _() -> None:
    net, x = model(), mg.randn(1, 5, 8)
    run = viz.trace(net, x)
    cut = run.edited({"linear2": lambda value: value * 0})
    assert not mg.allclose(run.output, cut.output)
    again = cut.patch("linear2", run["linear2"])
    assert mg.allclose(again.output, run.output)
    cut.output[0, 0, 0].backward()
    assert net.linear1.weight.grad is None or not net.linear1.weight.grad.any()  # it was cut off
    assert net.self_attn.in_proj_weight.grad.any()


@step("attention of a model of one's own, and backward step by step")
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
    told = python(
        "import minigrad as torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)"
    )
    assert told.strip() == "tensor([2., 2.])"
