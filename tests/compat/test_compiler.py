"""compile, torch.compiler, torch._dynamo and torch.jit have no effect, or raise a clear error."""

import operator
from typing import Any

import minigrad as mg
from tests.support.cases import cases, raises


def double(x: Any) -> Any:
    """Twice x."""
    return 2 * x


def test_compile_returns_its_argument() -> None:
    model = mg.nn.Linear(2, 2)
    assert mg.compile(model) is model
    assert mg.compile(model, fullgraph=True, dynamic=False, backend="inductor", mode="max-autotune") is model
    assert mg.compile(double, options={"triton.cudagraphs": True}) is double
    assert mg.compile(dynamic=True)(double) is double and mg.compile()(double)(2) == 4
    raises(RuntimeError, "mode=fast", lambda: mg.compile(double, mode="fast"))
    raises(RuntimeError, "not both", lambda: mg.compile(double, mode="default", options={}))


def test_names_around_compile() -> None:
    compiler = mg.compiler
    assert mg._dynamo is compiler and not compiler.is_compiling() and compiler.disable(double) is double
    assert compiler.disable()(double) is double and compiler.disable(recursive=False)(double) is double
    assert mg._dynamo.allow_in_graph(double) is double and mg._dynamo.optimize("inductor")(double) is double
    mg._dynamo.config.suppress_errors = True
    mg._dynamo.reset()
    compiler.cudagraph_mark_step_begin()
    with compiler.set_stance("force_eager"):
        pass


def test_jit_leaves_functions_and_modules_unchanged(tmp_path: Any) -> None:
    from minigrad.jit import Final, ScriptModule, script, trace

    model = mg.nn.Linear(2, 2)
    assert script(double) is double and mg.jit.script(model) is model and trace(model, mg.ones(1, 2)) is model
    assert mg.jit.ignore(double) is double and mg.jit.ignore()(double) is double
    assert mg.jit.unused(double) is double and mg.jit.export(double) is double and not mg.jit.is_scripting()
    assert not mg.jit.is_tracing() and mg.jit.annotate(list, [1]) == [1] and mg.jit.isinstance([1], list)
    assert mg.jit._unwrap_optional(3) == 3
    raises(AssertionError, None, lambda: mg.jit._unwrap_optional(None))
    assert issubclass(ScriptModule, mg.nn.Module) and mg.ScriptModule is ScriptModule
    assert not isinstance(model, ScriptModule) and not isinstance(script(double), mg.jit.ScriptFunction)
    assert mg.jit._script_if_tracing(double) is mg.jit._overload_method(double) is double
    mg.onnx.register_custom_op_symbolic("library::op", mg.onnx.symbolic_helper.parse_args("v", "i")(double), 11)
    assert Final[int]
    raises(NotImplementedError, r"torch\.jit\.save: .*state dict", lambda: mg.jit.save(model, tmp_path / "model.pt"))


@cases("path", ["onnx.export", "onnx.dynamo_export", "hub.load", "fx.Tracer", "autograd.profiler.emit_nvtx"])
def test_missing_functions_raise_errors_when_called(path: str) -> None:
    function: Any = operator.attrgetter(path)(mg)
    raises(NotImplementedError, rf"^minigrad has no torch\.{path}: .", lambda: function(1, two=2))
