"""``minigrad completion``: scripts for shells, by an optional library."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from minigrad.commands import cli, completion


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_knows_commands_options_and_files(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command.name in script for command in cli.COMMANDS) and "length-penalty" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    if not shutil.which("bash"):
        pytest.skip("no bash")
    cli.main(["completion", "bash"])
    function = "_shtab_minigrad"
    ask = f"COMP_WORDS=(minigrad comp); COMP_CWORD=1; {function}; echo ${{COMPREPLY[@]}}"
    script = f"{capsys.readouterr().out}\n{ask}\n"
    told = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout
    assert set(told.split()) == {"compat", "completion"}


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: completion needs shtab: ") and "pip install shtab" in told
