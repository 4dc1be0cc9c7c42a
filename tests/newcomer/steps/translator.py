"""A user's own pairs: training, translating, evaluating, drawing, and the same from Python."""

import json
import re
from pathlib import Path

from book import command, finish, one_line, python, step

LOAD = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tokenizers", "sacrebleu", "sacremoses", "tqdm"):
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Block())
from minigrad_models.translation import Translator

(translation,) = Translator.load("runs/toy/last.safetensors").translate(["I like cats"])
print("text:", translation.text)
"""
MODEL = "runs/numbers/model.safetensors"


@step("own pairs: minigrad train --data numbers.tsv, which ran in the background")
def _() -> None:
    output = finish("train")
    assert "300 pairs" in output and "minigrad translate" in output, output
    assert Path(MODEL).exists() and Path("runs/numbers/settings.toml").exists()


@step("the same command again: the training is finished, and nothing is trained twice")
def _() -> None:
    before = Path(MODEL).read_bytes()
    command("minigrad", "train", "--data", "numbers.tsv", "--steps", "60", "--run", "runs/numbers")
    steps = [json.loads(line).get("step", 0) for line in Path("runs/numbers/log.jsonl").read_text().splitlines()]
    assert max(steps) == 60 and steps == sorted(steps) and Path(MODEL).read_bytes() == before


@step("minigrad translate: arguments, and a pipe")
def _() -> None:
    assert len(command("minigrad", "translate", "--run", "runs/numbers", "21", "300").splitlines()) >= 2
    output = command("minigrad", "translate", "--run", MODEL, input="21\n22\n23\n")
    assert len(output.splitlines()) >= 3, output


@step("minigrad evaluate: scores on the held-out pairs")
def _() -> None:
    output = command("minigrad", "evaluate", "--run", "runs/numbers", "--json", "report.json")
    assert "BLEU" in output and "chrF" in output, output
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))


STOPPED = """
import signal, subprocess, sys, time
from pathlib import Path

p = subprocess.Popen(["minigrad", "train", "--run", "runs/toy", "--log-every", "1"])
until = time.monotonic() + 200
while not Path("runs/toy/log.jsonl").exists() and time.monotonic() < until and p.poll() is None:
    time.sleep(0.2)
p.send_signal(signal.SIGINT)
sys.exit(p.wait())
"""


@step("the shipped corpus: stopped with Ctrl-C, then used for translating without optional libraries")
def _() -> None:
    assert "minigrad train --run runs/toy" in python(STOPPED, status=130)
    assert python(LOAD).startswith("text:")


@step("minigrad viz: the curves of a run")
def _() -> None:
    assert "wrote curves.html" in command("minigrad", "viz", "runs/numbers", "--output", "curves.html")
    assert Path("curves.html").stat().st_size > 1000


@step('minigrad viz model.safetensors "A sentence.": the attention of the translator')
def _() -> None:
    for name in ("looks.html", "looks.svg"):
        assert f"wrote {name}" in command("minigrad", "viz", MODEL, "21", "--output", name)
    assert "give a sentence" in one_line(command("minigrad", "viz", MODEL, status=1))
    assert "nowhere does not exist" in one_line(command("minigrad", "viz", "nowhere", status=1))


SERVING = """
import subprocess, urllib.request

p = subprocess.Popen(["minigrad", "serve", "--run", "runs/numbers", "--port", "0"], stdout=subprocess.PIPE, text=True)
url = p.stdout.readline().split(" is at ")[1].split()[0]
print(urllib.request.urlopen(url, timeout=60).read().decode())
p.terminate()
p.wait()
"""


@step("minigrad serve: a page that translates")
def _() -> None:
    page = python(SERVING)
    assert "<html" in page and "<script" in page


@step("minigrad config: settings to change, and train --config")
def _() -> None:
    toml = command("minigrad", "config", "--data", "numbers.tsv")
    assert "[model]" in toml
    Path("my.toml").write_text(re.sub(r"(?m)^layers = \d+", "layers = 1", toml), encoding="utf-8")
    command("minigrad", "train", "--config", "my.toml", "--steps", "2", "--warm-up", "1", "--run", "runs/mine")
    assert re.search(r"(?m)^layers = 1\b", Path("runs/mine/settings.toml").read_text(encoding="utf-8"))
