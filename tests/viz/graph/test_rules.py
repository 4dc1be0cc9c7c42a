"""Sources of gradient rules: they are found for every op, and match the compiled code (bar 3)."""

import dis
import math
import re
from types import CodeType
from typing import Any

import numpy as np

import minigrad
from minigrad.backend import of
from minigrad.compat.ops.registry import REGISTRY
from minigrad.ops.op import Op
from minigrad.viz.graph.graph_names import op_info, source_of
from tests.support.cases import each
from tests.support.functions import Cube


def same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects are the same, instruction by instruction."""

    def instructions(code: CodeType) -> list[tuple[str, str]]:
        return [(i.opname, "" if isinstance(i.argval, CodeType) else i.argrepr) for i in dis.get_instructions(code)]

    inner_a = [c for c in a.co_consts if isinstance(c, CodeType)]
    inner_b = [c for c in b.co_consts if isinstance(c, CodeType)]
    return (
        instructions(a) == instructions(b)
        and a.co_varnames == b.co_varnames
        and len(inner_a) == len(inner_b)
        and all(map(same_code, inner_a, inner_b))
    )


def compiled(text: str) -> CodeType:
    """The code of a lambda. (``math.log`` is compiled differently if math was imported above it.)"""
    module = compile(f"import math, operator\nrule = (\n{text}\n)", "rule", "exec")
    return next(c for c in module.co_consts if isinstance(c, CodeType))


def check_op(name: str) -> None:
    """Every differentiable input has a source; so do the forward function and the kernel."""
    entry, info = REGISTRY[name], op_info(REGISTRY[name])
    assert info.name == name and info.formula
    assert info.forward is not None
    if entry.forward.__code__.co_name == "<lambda>":
        assert same_code(compiled(info.forward.text), entry.forward.__code__)
    else:
        assert f"def {name}(" in info.forward.text
    inputs = {entry.param(i) for i in range(entry.arity) if entry.differentiable >> i & 1}
    if entry.variadic and entry.differentiable >> entry.arity & 1:
        inputs.add(entry.variadic)
    assert set(info.rules) == (inputs if entry.rules else set())
    assert set(info.gradients) == {key for key in info.rules if getattr(entry, "formula", {}.get)(key)}
    for key, (rule, *_) in entry.rules.items():
        source = info.rules[key]
        assert source.line == rule.__code__.co_firstlineno and rule.__code__.co_filename.endswith(source.file)
        if rule.__name__ == "<lambda>":
            assert source.text.startswith("lambda") and same_code(compiled(source.text), rule.__code__)
        else:
            assert source.text.startswith(f"def {rule.__name__}(")
    kernels = of(np.empty(0)).kernels(name)
    assert (info.kernel is not None) == bool(kernels)
    if info.kernel is not None:
        assert re.match(r"def (\w+_)?(backward|forward)\(", info.kernel.text)
        function = getattr(kernels[0], "backward", kernels[0].forward)  # some share a function
        where = function.__module__.replace(".", "/")
        assert info.kernel.file == f"{where}.py" and where.startswith("minigrad/backend/kernels/")


def test_the_sources_of_every_op_match_the_running_code() -> None:
    each(REGISTRY, check_op)


def test_rules_on_several_lines_and_several_rules_on_a_line() -> None:
    lines = op_info(REGISTRY["var"]).rules["x"].text.splitlines()
    assert lines[0] == "lambda g, x, shape, dim, correction: ("
    assert lines[1].startswith("    spread") and lines[-1] == ")"
    rules = op_info(REGISTRY["mul"]).rules
    assert (rules["a"].text, rules["b"].text) == ("lambda g, b: g * b", "lambda g, a: g * a")
    assert rules["a"].line == rules["b"].line


def test_helpers_are_the_functions_that_rules_name() -> None:
    helpers = op_info(REGISTRY["atan2"]).helpers
    assert set(helpers) == {"_over_square", "_inf_of_0"}
    assert helpers["_over_square"].text.startswith("def _over_square(x: Array, a: Array, b: Array)")
    assert {"spread", "_degrees"} <= set(op_info(REGISTRY["var"]).helpers)  # from another file, and the rule's
    assert op_info(REGISTRY["exp"]).helpers == {}


def test_kernels_of_the_arrays_backend(device: str) -> None:
    array = minigrad.zeros(2, device=device).array
    info = op_info(REGISTRY["layer_norm"], array)
    assert (info.kernel is not None) == bool(of(array).kernels("layer_norm"))
    if info.kernel is not None:
        name = of(array).kernels("layer_norm")[0].forward.__module__.rpartition(".")[2]
        assert name in {"cpu": ("layer_norm_numba", "layer_norm")}.get(device, ("layer_norm_cuda",))
        assert info.kernel.file == f"minigrad/backend/kernels/{name}.py"


def test_a_users_function() -> None:
    info = op_info(Cube._op)
    assert (info.name, info.formula) == ("Cube", "x³")
    assert info.forward.text.startswith("@staticmethod\ndef forward(ctx: Any, x: Any) -> Any:\n    ctx.save")
    assert info.rules["backward"].text.endswith("    return 3 * x * x * grad")
    assert info.rules["backward"].file == "tests/support/functions.py"


def test_a_users_op_and_code_without_source() -> None:
    def halved(x: Any) -> Any:
        """x / 2"""
        return x / 2

    own = Op(halved)
    own.gradient(x=lambda g: next(g * 0.5 for _ in "x"))
    assert op_info(own).rules["x"].text == 'lambda g: next(g * 0.5 for _ in "x")'
    assert "halved" not in REGISTRY and op_info(own).gradients == {}
    own.formula = {"x": "dx = g / 2"}.get  # type: ignore[method-assign,assignment,attr-defined,unused-ignore]
    assert op_info(own).gradients == {"x": "dx = g / 2"}
    names: dict[str, Any] = {}
    exec("rule = lambda g: g * 3", names)  # typed in: it has no file
    assert op_info(Op(halved).gradient(x=names["rule"])).rules == {}
    assert source_of(math.sin) is None and source_of(None) is None and source_of(np.sum) is not None


ä, nested = (lambda g: g * 2, lambda g: [lambda h: h, lambda h: h + g])  # noqa: PLC2401  (a column is not a byte)


def test_columns_count_bytes_and_nested_lambdas_are_distinguished() -> None:
    sources = [source_of(each) for each in (ä, nested, nested(1)[1])]
    texts = [source.text for source in sources if source is not None]
    assert texts == ["lambda g: g * 2", "lambda g: [lambda h: h, lambda h: h + g]", "lambda h: h + g"]
