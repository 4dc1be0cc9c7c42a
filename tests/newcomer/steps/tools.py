"""Tools: profiles, type checkers, editors."""

import json
import sys
from pathlib import Path

from book import command, finish, python, step


@step("minigrad profile program.py: a table by op or module, and a trace")
def _() -> None:
    output = command("minigrad", "profile", "--trace", "trace.json", "user.py", ".")
    assert "linear" in output and "Self CPU" in output, output
    assert json.loads(Path("trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert "Classifier.head" in command("minigrad", "profile", "--by", "module", "user.py", ".")


@step("a program that fails under profile or compat shows its own traceback and status")
def _() -> None:
    Path("fails.py").write_text(
        "import sys\nprint('begun')\nsys.exit(3) if len(sys.argv) > 1 else 1 / 0\n", encoding="utf-8"
    )
    for name in ("profile", "compat"):
        output = command("minigrad", name, "fails.py", status=1)
        assert "ZeroDivisionError" in output and "minigrad_models/commands" not in output.replace("\\", "/"), output
        command("minigrad", name, "fails.py", "leave", status=3)


@step("a user's program runs, and mypy --strict finds no errors")
def _() -> None:
    assert "loss" in command("python", "user.py", ".")
    assert "Success" in finish("mypy")


@step("an editor completes and explains: jedi")
def _() -> None:
    output = python(
        "import jedi\n"
        "code = 'import minigrad as mg\\nmg.nn.Line'\n"
        "print([c.name for c in jedi.Script(code).complete(2, 10)])\n"
        "print(jedi.Script('import minigrad as mg\\nmg.softmax').help(2, 5)[0].docstring()[:200])\n"
    )
    assert "Linear" in output and "softmax" in output, output


@step("uninstalling leaves nothing behind")
def _() -> None:
    command("pip", "uninstall", "-q", "-y", "minigrad-nn")
    assert not (Path(sys.prefix) / "bin" / "minigrad").exists()
    assert "No module named 'minigrad'" in python("import minigrad", status=1)
