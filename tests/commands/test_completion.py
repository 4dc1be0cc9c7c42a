"""``minigrad completion``: scripts for shells, by an optional library."""

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
    if shell == "bash" and shutil.which("bash"):
        ask = "COMP_WORDS=(minigrad comp); COMP_CWORD=1; _shtab_minigrad; echo ${COMPREPLY[@]}"
        completed = subprocess.run(["bash", "-c", f"{script}\n{ask}\n"], check=True, capture_output=True, text=True)
        assert set(completed.stdout.split()) == {"compat", "completion"}


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: completion needs shtab: ") and "pip install shtab" in told
