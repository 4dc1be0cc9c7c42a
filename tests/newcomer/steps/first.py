"""The first minutes, with only NumPy."""

import sys
from pathlib import Path

from book import command, python, step

import minigrad
import minigrad as mg
from minigrad import nn, viz

TEN_LINES = """
import minigrad as mg
from minigrad import nn

mg.manual_seed(0)
x = mg.linspace(-3, 3, 200)[:, None]
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
adam = mg.optim.Adam(model.parameters(), lr=0.02)
for _ in range(300):
    loss = nn.functional.mse_loss(model(x), x.sin())
    adam.zero_grad()
    loss.backward()
    adam.step()
print("loss", loss.item())
"""


@step("import minigrad: the installed package, and only NumPy")
def _() -> None:
    assert Path(minigrad.__file__).is_relative_to(sys.prefix), minigrad.__file__
    installed = {line.split("==")[0].lower() for line in command("pip", "freeze").splitlines()}
    assert {name.split(" ")[0] for name in installed} <= {"minigrad-nn", "numpy"}, installed


@step("minigrad --version, also by python -m minigrad")
def _() -> None:
    text = command("minigrad", "--version")
    assert text.startswith("minigrad 0.") and "NumPy 2" in text and "Python 3." in text and "CuPy none" in text, text
    assert command("python", "-m", "minigrad", "--version") == text


@step("minigrad --help lists all commands; a typo is a one-line error")
def _() -> None:
    text = command("minigrad", "--help")
    for name in ("train", "translate", "evaluate", "serve", "config", "data", "viz", "profile", "compat"):
        assert f"\n    {name}" in text, text
        assert command("minigrad", name, "--help").startswith(f"usage: minigrad {name} ")
    wrong = command("minigrad", "trian", status=2)
    assert "'trian'" in wrong and "Traceback" not in wrong


@step("ten lines that train a model")
def _() -> None:
    assert float(python(TEN_LINES).split()[1]) < 1e-3


@step("a page, and a picture as SVG, with no other library")
def _() -> None:
    a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(-3.0, requires_grad=True)
    viz.graph(a * b).save("first.html")
    viz.attention(mg.full((1, 2, 2), 0.5), ["I", "sleep"]).save("first.svg")
    assert "Content-Security-Policy" in Path("first.html").read_text(encoding="utf-8")
    assert Path("first.svg").read_text(encoding="utf-8").lstrip().startswith("<svg")


@step("weights are saved and loaded")
def _() -> None:
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    mg.save(model.state_dict(), "weights.safetensors")
    other.load_state_dict(mg.load("weights.safetensors"))
    assert mg.equal(model.weight, other.weight)
