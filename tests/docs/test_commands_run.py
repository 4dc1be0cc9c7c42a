"""Every `minigrad` command in the documentation and in `--help` runs in a fresh clone without data sets, or prints
one line that says which file is missing and how to get it.

The commands of a page run in order, in a separate folder with small files named as on the pages; the folders of
data sets (DIR, MIDI_FOLDER …) are missing. Training runs take only two steps.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from minigrad_models.music.midi import write_midi
from tests.support.cases import each
from tests.support.music import scale
from tests.test_docs import ROOT, command_lines, help_of

SHORT = {
    "train": "--steps 2 --warm-up 1",
    "gpt train": "--steps 2 --warm-up 1 --validated 2000 --sample 0",
    "music train": "--steps 2 --warm-up 1 --validated 1",
    **{f"bert {task}": "--epochs 1" for task in ("sst2", "mrpc", "conll", "squad")},
    "bert pretrain": "--updates 2 --batch 2",
}
FILES = {
    **dict.fromkeys(("book.txt", "text.en", "sentences.txt"), "It was a cat. The dog sees two cats.\n" * 300),
    **dict.fromkeys(("corpus.tsv", "pairs.tsv", "other.tsv"), "".join(f"n {n}\tenne {n}\n" for n in range(300))),
    "numbers.txt": "87\n88\n",
    "pairs.txt": "A cat. It sleeps.\n\nA dog. It runs.\n" * 100,
    "program.py": "import torch\n\nprint(torch.ones(2).sum())\n",
}


def minigrad_lines() -> Iterator[tuple[str, str]]:
    """(page, command) for each ``minigrad`` command on a page or in the examples of a ``--help``."""
    for place, line in command_lines():
        line = re.sub(r"^python tasks.py translate (?=train|evaluate|serve|translate)", "minigrad ", line)
        line = re.sub(r"^python tasks.py translate$", "minigrad train", line)
        line = re.sub(r"^python tasks.py translate", "minigrad translate", line)
        if line.startswith("minigrad "):
            yield place.split(":")[0], line
    for group in ("", "gpt", "bert", "music"):
        program = ("-m", "minigrad", *group.split())
        for line in help_of(program).splitlines():
            if match := re.match(r"  (minigrad \S.*?)(   .*)?$", line):
                yield f"minigrad {group} --help", match[1]


PAGES = {page: [line for _, line in lines] for page, lines in groupby(minigrad_lines(), key=lambda pair: pair[0])}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the pages' files, and a `minigrad` that calls the checkout's."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("in.mid", "motif.mid", "melody.mid"):
        write_midi(tmp_path / name, scale(60))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "minigrad"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m minigrad "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'models'}")
    monkeypatch.setenv("MINIGRAD_DATA", str(tmp_path / "no data"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no downloads
    return tmp_path


def shortened(line: str) -> str:
    """The command with options that shorten its training, inserted before a redirection."""
    command, sign, rest = line.partition(">")
    words = shlex.split(command)[1:]
    options = SHORT.get(" ".join(words[:2]), SHORT.get(words[0], ""))
    return f"{command} {options} {sign}{rest}"


def answer(line: str, folder: Path) -> str:
    """ "" if a command runs or prints a one-line error; else the problem. A server runs until it prints its address."""
    command = ["bash", "-c", shortened(line)]
    with subprocess.Popen(
        command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        if re.match("minigrad serve", line):
            assert process.stdout is not None
            first = process.stdout.readline()
            process.terminate()
            if "http" in first:
                return ""
        output, errors = process.communicate(timeout=600)
    if process.returncode == 0:
        return ""
    lines = errors.strip().splitlines()
    wrong = [text for text in lines if text.startswith(("error: ", "minigrad: error: "))]
    if len(wrong) == 1 and lines[-1] == wrong[0] and len(wrong[0]) < 800:
        return ""
    return f"{line}: exit {process.returncode}\n{output[-500:]}\n{errors[-2000:]}"


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES)
def test_every_command_runs_or_says_what_is_missing(page: str, clone: Path) -> None:
    def check(line: str) -> None:
        problem = answer(line, clone)
        assert not problem, problem

    each(PAGES[page], check)
