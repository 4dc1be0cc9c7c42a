"""autocast against PyTorch's: the dtypes of results, on the CPU and (with PyTorch's fake tensors) a GPU; training."""

import importlib
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.compat import autocast as amp
from minigrad.utils.checkpoint import checkpoint
from tests.support import strict
from tests.support.cases import cases, programs, raises
from tests.support.parity import torch

pytest.importorskip("ml_dtypes")
LOW = ["float16", "bfloat16"]
ALONE = "abs acos acosh asin asinh atan ceil cos cosh deg2rad erf erfc erfinv exp exp2 expm1 frac lgamma log log10"
ALONE += " log1p log2 logit neg reciprocal relu round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc amax"
ALONE += " amin argmax max mean median min prod std sum var trace"
ACTIVATIONS = "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish normalize relu6"
ACTIVATIONS += " selu silu softplus softshrink softsign tanhshrink"
LOSSES = "binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss poisson_nll_loss smooth_l1_loss"
LOSSES += " soft_margin_loss"
PAIRS = "add sub mul div fmod hypot kron logaddexp logaddexp2 maximum xlogy copysign"

# t is the library, F its nn.functional, m makes a float tensor of a shape, i a tensor of class numbers.
CASES = """
t.addbmm(m(2, 4), m(3, 2, 5), m(3, 5, 4)); t.addmm(m(2, 4), m(2, 5), m(5, 4)); t.addmv(m(2), m(2, 5), m(5));
t.addr(m(2, 5), m(2), m(5)); t.baddbmm(m(3, 2, 4), m(3, 2, 5), m(3, 5, 4)); F.bilinear(m(2, 3), m(2, 4), m(5, 3, 4));
t.bmm(m(3, 2, 5), m(3, 5, 4)); t.linalg.multi_dot([m(2, 3), m(3, 4), m(4, 2)]); F.conv1d(m(1, 2, 5), m(3, 2, 2), m(3));
F.conv2d(m(1, 2, 5, 5), m(3, 2, 2, 2), m(3)); F.conv3d(m(1, 2, 3, 3, 3), m(3, 2, 2, 2, 2));
F.conv_transpose1d(m(1, 2, 5), m(2, 3, 2)); F.conv_transpose2d(m(1, 2, 5, 5), m(2, 3, 2, 2));
F.conv_transpose3d(m(1, 2, 3, 3, 3), m(2, 3, 2, 2, 2)); t.dot(m(3), m(3));
t.einsum("bkhd,bqhd->bqkh", m(2, 3, 2, 4), m(2, 5, 2, 4)); F.linear(m(2, 3), m(4, 3), m(4)); t.matmul(m(2, 3), m(3));
m(2, 2, 3).matmul(m(3, 4)); m(2, 3) @ m(3, 4); t.mm(m(2, 3), m(3, 4)); t.mv(m(2, 3), m(3)); t.outer(m(2), m(3));
t.prelu(m(2, 3), m(1)); F.scaled_dot_product_attention(m(1, 2, 3, 4), m(1, 2, 3, 4), m(1, 2, 3, 4));
t.tensordot(m(2, 3), m(3, 4), 1); t.vdot(m(3), m(3)); t.linalg.vecdot(m(2, 3), m(2, 3)); t.atan2(m(3), m(3));
t.cdist(m(2, 3), m(4, 3)); F.cosine_similarity(m(2, 3), m(2, 3)); t.linalg.cross(m(2, 3), m(2, 3)); t.cumprod(m(3), 0);
t.cumsum(m(3), 0); t.dist(m(3), m(3)); F.dropout(m(3), 0.5); F.group_norm(m(2, 4, 3), 2);
F.layer_norm(m(2, 3), (3,), m(3), m(3)); F.rms_norm(m(2, 3), (3,), m(3));
F.batch_norm(m(2, 3), None, None, training=True); t.log_softmax(m(2, 3), 1); t.logsumexp(m(2, 3), 1); m(2, 3).norm();
t.norm(m(2, 3), 2, 1); t.linalg.norm(m(2, 3)); t.linalg.vector_norm(m(2, 3)); F.pdist(m(4, 3)); t.pow(m(3), m(3));
t.pow(2.0, m(3)); m(3) ** 1.5; 1.5 ** m(3); t.prod(m(2, 3), 0); t.quantile(m(5), 0.3); t.renorm(m(3, 3), 2, 0, 1.0);
t.softmax(m(2, 3), 1); F.softmax(m(2, 3), dim=1); m(2, 3).softmax(1); t.softmax(m(2, 3), 1, dtype=t.float64);
t.sum(m(2, 3), dim=1); t.sum(m(2, 3), dtype=t.float16); m(2, 3).sum(-1, keepdim=True);
F.binary_cross_entropy(m(2, 3), m(2, 3)); F.cosine_embedding_loss(m(2, 3), m(2, 3), i(2) * 2 - 1);
F.cross_entropy(m(2, 3), i(2), label_smoothing=0.1); F.hinge_embedding_loss(m(2), i(2) * 2 - 1);
F.margin_ranking_loss(m(2), m(2), i(2) * 2 - 1); F.multi_margin_loss(m(2, 3), i(2));
F.multilabel_margin_loss(m(2, 3), i(2, 3)); F.nll_loss(m(2, 3), i(2));
F.triplet_margin_loss(m(2, 3), m(2, 3), m(2, 3)); F.gaussian_nll_loss(m(2, 3), m(2, 3), m(2, 3));
F.multilabel_soft_margin_loss(m(2, 3), m(2, 3)); t.addcdiv(m(3), m(3), m(3)); m(3).clamp(0.2, 0.5); t.cov(m(2, 5));
F.glu(m(2, 4)); t.inner(m(2, 3), m(4, 3)); F.instance_norm(m(2, 3, 4));
F.interpolate(m(1, 1, 4, 4), scale_factor=2, mode="bilinear"); F.interpolate(m(1, 1, 4), scale_factor=2);
t.lerp(m(3), m(3), 0.5); t.logcumsumexp(m(3), 0); t.linalg.matrix_power(m(3, 3), 2); t.nansum(m(3)); t.nanmean(m(3));
F.pairwise_distance(m(2, 3), m(2, 3)); F.softmin(m(2, 3), 1); t.std_mean(m(3)); F.threshold(m(3), 0.1, 0.0);
t.trapezoid(m(3)); F.adaptive_avg_pool3d(m(1, 1, 4, 4, 4), 2); F.avg_pool2d(m(1, 1, 4, 4), 2);
F.avg_pool3d(m(1, 1, 4, 4, 4), 2); F.max_pool2d(m(1, 1, 4, 4), 2); F.max_pool3d(m(1, 1, 4, 4, 4), 2);
F.embedding(i(2), m(5, 3)); t.linalg.cholesky(m(3, 3) * 0 + t.eye(3, device=m(1).device));
t.linalg.inv(m(3, 3) + t.eye(3, device=m(1).device)); t.linalg.svdvals(m(3, 2))
"""
# With one float32 operand, a, and one 16-bit operand, b.
MIXED = """
a + b; t.addcdiv(a, b, b); t.addcmul(b, a, b); t.atan2(b, a); t.cat([b, a]); t.linalg.cross(a[:, :3], b[:, :3]);
t.dot(a[0], b[0]); t.index_copy(a, 0, i(4), b); t.index_put(a, (i(1),), b[:1]); F.linear(b, a);
F.layer_norm(b, (4,), a[0], a[1]); a @ b; F.mse_loss(a, b); F.batch_norm(b, None, None, a[0], a[1], training=True);
t.scatter_add(a, 0, i(4, 4), b); t.stack([b, a]); t.tensordot(a, b, 1); t.where(a > 0, a, b)
"""
HEADS = "*[m(3, 1, 4)] * 3, 4, 2, m(12, 4), m(12), None, None, False, 0.0, m(4, 4), m(4)"
EXPRESSIONS = [
    *programs(CASES),
    *[f"t.{name}(m(2, 3))" for name in ALONE.split()],
    *[f"F.{name}(m(2, 3))" for name in ACTIVATIONS.split()],
    *[f"F.{name}(m(2, 3), m(2, 3), reduction={how!r})" for name in LOSSES.split() for how in ("mean", "none")],
    *[f"t.{name}(m(3), m(3))" for name in PAIRS.split()],
    *[f"F.multi_head_attention_forward({HEADS})[{n}]" for n in (0, 1)],
]


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).uniform(0.1, 0.9, shape).astype(np.float32)


def operands(t: Any, place: str, low: str, dtype: str) -> dict[str, Any]:
    """The names in expressions; PyTorch's tensors on a GPU are fake ones."""
    is_fake = t is torch and place != "cpu"
    device = "cuda" if is_fake else place

    def make(*shape: int, dtype: str = dtype) -> Any:
        if is_fake:
            return t.empty(*shape, device=device, dtype=getattr(t, dtype))
        return t.tensor(numbers(*shape)).to(getattr(t, dtype)).to(device)

    more = {"m": make, "i": lambda *shape: t.zeros(*shape, dtype=t.int64, device=device)}
    return {"t": t, "F": t.nn.functional, "a": make(4, 4, dtype="float32"), "b": make(4, 4, dtype=low), **more}


@contextmanager
def theirs(place: str, low: str) -> Iterator[None]:
    """PyTorch's autocast, on a GPU with fake tensors if there is no real one."""
    if place == "cpu":
        with torch.autocast("cpu", dtype=getattr(torch, low)):
            yield
        return
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode(allow_non_fake_inputs=True):
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", getattr(torch, low))
        try:
            yield
        finally:
            torch.set_autocast_enabled("cuda", False)
            torch.set_autocast_dtype("cuda", torch.float16)


def dtypes(expressions: list[str], names: dict[str, Any]) -> list[str]:
    """The dtypes of results without their library's name; "" where the library raises an error."""
    kinds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in expressions:
            try:
                result = eval(expression, dict(names))
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                kinds.append("")
            else:
                kinds.append(str((result[0] if isinstance(result, tuple) else result).dtype).rpartition(".")[2])
    return kinds


@pytest.mark.parametrize("place", ["cpu", "strict"])
@pytest.mark.parametrize("low", LOW)
def test_dtypes_are_pytorchs(low: str, place: str) -> None:
    strict.install(emulate=False)
    differ = []
    for dtype in ("float32", low):
        expressions = [*EXPRESSIONS, *(programs(MIXED) if dtype == low else [])]
        with theirs(place, low):
            expected = dtypes(expressions, operands(torch, place, low, dtype))
        with mg.autocast(place, dtype=getattr(mg, low)):
            actual = dtypes(expressions, operands(mg, place, low, dtype))
        for expression, kind, other in zip(expressions, actual, expected, strict=True):
            # Without fake tensors PyTorch rejects index_copy on a GPU
            if kind != other and other and not (place != "cpu" and "index_copy" in expression):
                differ.append(f"{dtype} {expression}: {kind}, PyTorch's {other}")
    assert not differ, "\n".join(differ)


# Contexts -----------------------------------------------------------------------------------------------------


def product(x: Any) -> Any:
    return (x @ x).dtype


def test_contexts_nest_and_end() -> None:
    x = mg.ones(2, 2)
    with mg.autocast("cpu"):
        assert (product(x), mg.is_autocast_enabled("cpu"), mg.is_autocast_cpu_enabled()) == (mg.bfloat16, True, True)
        with mg.autocast("cpu", enabled=False):
            assert (product(x), mg.is_autocast_enabled("cpu")) == (mg.float32, False)
            with mg.autocast("cpu", dtype=mg.float16):
                assert (product(x), mg.get_autocast_dtype("cpu")) == (mg.float16, mg.float16)
            assert product(x) is mg.float32
        with mg.autocast("strict"):  # another device's, nested in it
            assert product(x) is mg.bfloat16 and mg.is_autocast_enabled("strict")
        assert product(x) is mg.bfloat16 and not mg.is_autocast_enabled("strict")
        with pytest.raises(ValueError, match="within"), mg.autocast("cpu", dtype=mg.float16):
            raise ValueError("within")
        assert product(x) is mg.bfloat16
    assert (product(x), mg.is_autocast_enabled("cpu"), mg.get_autocast_cpu_dtype()) == (mg.float32, False, mg.bfloat16)
    context = mg.autocast("cpu")
    with context, context:
        assert product(x) is mg.bfloat16
    assert product(x) is mg.float32


def test_without_an_autocast_nothing_is_replaced() -> None:
    """Names and results stay the same; float64, integers, and results for ``out`` are not converted."""
    x, y = mg.rand(2, 3), mg.rand(3, 2)
    expected = x @ y
    with mg.autocast("cpu"):
        assert product(mg.ones(2, 2, dtype=mg.float64)) is mg.float64
        assert product(mg.ones(2, 2, dtype=mg.int64)) is mg.int64
        out = mg.zeros(2, 2)
        mg.matmul(x, y, out=out)
        assert out.equal(expected)
        half = mg.ones(2, dtype=mg.bfloat16)
        assert half.exp_() is half and half.dtype is mg.bfloat16
    assert (x @ y).equal(expected) and mg.nn.functional.linear.__name__ == "linear"


def test_decorators() -> None:
    @mg.autocast("cpu", dtype=mg.float16)
    def lowered(x: Any) -> Any:
        """Its text."""
        return product(x)

    @mg.cpu.amp.autocast(enabled=False)
    def whole(x: Any) -> Any:
        return product(x)

    x = mg.ones(2, 2)
    assert lowered(x) is mg.float16 and lowered.__doc__ == "Its text."
    with mg.autocast("cpu"):
        assert whole(x) is mg.float32 and product(x) is mg.bfloat16


def test_errors_and_disabled_contexts() -> None:
    raises(RuntimeError, "'gpu' is not a device", lambda: mg.autocast("gpu"))
    with pytest.raises(ValueError, match="device_type"):
        mg.autocast(mg.device("cpu"))  # type: ignore[arg-type]
    for place, dtype in (("cpu", mg.float64), *[("cuda", None)] * (not mg.cuda.is_available())):
        with pytest.warns(UserWarning, match="Disabling autocast"):
            context = mg.autocast(place, dtype=dtype)
        with context:
            assert product(mg.ones(2, 2)) is mg.float32
    strict.install(emulate=False)
    p = mg.tensor([0.5], device="strict")
    with mg.autocast("strict"), pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"):
        mg.nn.functional.binary_cross_entropy(p, p)


def test_each_thread_has_its_own_autocast() -> None:
    log: list[Any] = []
    x = mg.ones(2, 2)

    def work() -> None:
        log.append(product(x))
        with mg.autocast("cpu", dtype=mg.float16):
            log.append(product(x))

    with mg.autocast("cpu"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert product(x) is mg.bfloat16
    assert log == [mg.float32, mg.float16]


def first_node_after(w: Any, node: Any) -> Any:
    """The op that uses a leaf, at the end of the chain of a node's first inputs."""
    before = node.next_functions[0][0]
    return node if getattr(before, "variable", None) is w else first_node_after(w, before)


@cases("cached", [True, False])
def test_a_parameter_is_converted_once(cached: bool) -> None:
    w = mg.ones(2, 2, requires_grad=True)
    with mg.autocast("cpu", cache_enabled=cached):
        first, second = (w @ mg.ones(2, 2) for _ in range(2))
        conversions = {first_node_after(w, y.grad_fn) for y in (first, second)}
        with mg.no_grad():
            assert not (w @ w).requires_grad
            w.mul_(3)
        assert (w @ mg.ones(2, 2)).tolist() == [[6, 6], [6, 6]]  # an in-place change counts
    assert not amp._state.now.cache
    (first.float() + second.float()).sum().backward()
    assert w.grad is not None and w.grad.dtype is mg.float32 and w.grad.tolist() == [[4, 4], [4, 4]]
    assert len(conversions) == (1 if cached else 2)


def test_gradients_add_up_within_one_context() -> None:
    """The next backward pass goes through a cached conversion again."""
    w, x = mg.ones(2, 2, requires_grad=True), mg.ones(2, 2)
    with mg.autocast("cpu"):
        for count in (1, 2, 3):
            (x @ w).sum().backward()
            assert w.grad is not None and w.grad.tolist() == [[2 * count] * 2] * 2


def test_modes_see_each_function_once() -> None:
    from minigrad.compat.overrides import TorchFunctionMode

    log: list[str] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x, w = mg.ones(2, 2), mg.ones(2, 2)
    with mg.autocast("cpu"), Watch():
        y = mg.nn.functional.linear(x, w)
    assert log == ["linear"] and y.dtype is mg.bfloat16 and mg.nn.functional.linear(x, w).dtype is mg.float32


def test_a_checkpoint_recomputes_under_the_same_autocast() -> None:
    w = mg.rand(3, 3, requires_grad=True)
    derivatives = []
    for wrapped in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        with mg.autocast("cpu"):
            loss = wrapped(lambda x: (x @ w).tanh() @ w, mg.ones(2, 3)).float().sum()
        (derivative,) = mg.autograd.grad(loss, w, create_graph=True)
        derivatives.append(derivative)
        derivatives.append(mg.autograd.grad(derivative.square().sum(), w)[0])
    assert derivatives[0].equal(derivatives[2])
    assert derivatives[1].allclose(derivatives[3], rtol=2e-2)  # it runs once more


@cases("within", [False, True])
@cases("name", ["before", "after", "twice", "nested", "with a part that is not lowered"])
def test_both_runs_of_a_checkpoint_convert_the_same(name: str, within: bool) -> None:
    """A weight that is also used outside is converted in both runs, wherever the backward pass begins."""

    def derivatives(t: Any, checkpoint: Any) -> list[Any]:
        w = t.tensor(numbers(3, 3)).requires_grad_()

        def f(x: Any) -> Any:
            return (x @ w).tanh() @ w

        def mixed(x: Any) -> Any:
            with t.autocast("cpu", enabled=False):
                y = x.float().tanh()
            return y @ w

        def again(f: Any, x: Any) -> Any:
            return checkpoint(f, x, use_reentrant=False)

        programs = {
            "before": lambda x: again(f, x @ w),
            "after": lambda x: again(f, x) @ w,
            "twice": lambda x: again(f, again(f, x)),
            "nested": lambda x: again(lambda x: again(f, x @ w) @ w, x),
            "with a part that is not lowered": lambda x: again(lambda x: mixed(x @ w), x),
        }
        with t.autocast("cpu"):
            loss = programs[name](t.ones(2, 3)).float().sum()
            if within:
                loss.backward()
        if not within:
            loss.backward()
        return list(w.grad.tolist())

    expected = derivatives(torch, importlib.import_module("torch.utils.checkpoint").checkpoint)
    np.testing.assert_allclose(derivatives(mg, checkpoint), expected, rtol=2e-2)
    assert not amp._state.now.cache


@cases("cast_inputs", [None, "float32"])
def test_custom_functions(cast_inputs: str | None) -> None:
    """Forward and backward run in one autocast, or without one on inputs converted to a dtype."""
    results = []
    for t in (mg, torch):
        log: list[str] = []
        kind = None if cast_inputs is None else getattr(t, cast_inputs)

        class Square(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=kind)
            def forward(ctx: Any, x: Any, w: Any, log: Any = log) -> Any:
                ctx.save_for_backward(x, w)
                y = x @ w
                log.extend(map(str, (x.dtype, y.dtype)))
                return y

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any, log: Any = log) -> Any:
                x, w = ctx.saved_tensors
                log.append(str((g @ w.T).dtype))
                return None, (x.T.float() @ g.float()), None

        w = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y = Square.apply(t.ones(2, 2).bfloat16() if cast_inputs else t.ones(2, 2), w)
        y.float().sum().backward()
        results.append(([name.rpartition(".")[2] for name in log], w.grad.tolist()))
    assert results[0] == results[1]


# Training -----------------------------------------------------------------------------------------------------


def model_of(t: Any) -> Any:
    """The parts of a transformer: an embedding, attention, norms and a softmax."""
    return t.nn.ModuleDict(
        {
            "embedding": t.nn.Embedding(11, 16),
            "block": t.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu"),
            "norm": t.nn.LayerNorm(16),
            "out": t.nn.Linear(16, 11),
        }
    )


def losses(t: Any, model: Any, place: str, low: str = "") -> list[float]:
    """The losses of five AdamW steps with clipping on one batch, with autocast to a 16-bit dtype or without."""
    optimizer = t.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = t.amp.GradScaler("cpu", enabled=low == "float16")
    tokens = t.tensor(np.random.default_rng(0).integers(0, 11, (4, 7))).to(place)
    log = []
    for _ in range(5):
        optimizer.zero_grad()
        with t.autocast(place, dtype=getattr(t, low or "bfloat16"), enabled=bool(low)):
            x = model["embedding"](tokens[:, :-1])
            logits = model["out"](model["norm"](model["block"](x)))
            loss = t.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].reshape(-1))
        assert loss.dtype == t.float32
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        log.append(loss.item())
    return log


@pytest.mark.parametrize("low", LOW)
def test_training_follows_pytorchs(low: str, device: str) -> None:
    """To the accuracy of the dtype, and closer to PyTorch's than to a run without autocast."""
    mg.manual_seed(0)
    ours, theirs = model_of(mg), model_of(torch)
    weights = {name: value.numpy().copy() for name, value in ours.state_dict().items()}
    theirs.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    ours.to(device)
    actual, expected = losses(mg, ours, device, low), losses(torch, theirs, "cpu", low)
    np.testing.assert_allclose(actual, expected, rtol=2e-2 if low == "bfloat16" else 4e-3)
    assert {p.dtype for p in ours.parameters()} == {p.grad.dtype for p in ours.parameters()} == {mg.float32}
    whole = model_of(mg).to(device)
    whole.load_state_dict({name: mg.tensor(value) for name, value in weights.items()})
    assert losses(mg, whole, device) != actual
