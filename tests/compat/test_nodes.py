"""The nodes of a graph as PyTorch programs see them: names, edges, saved tensors."""

from functools import partial
from importlib import import_module
from typing import Any

import pytest

import minigrad as mg
from minigrad.compat import nodes
from minigrad.ops.op import REGISTRY
from tests.support.cases import cases, raises
from tests.support.expressions import split


def operands(t: Any) -> dict[str, Any]:
    t.manual_seed(0)
    return {
        "t": t,
        "F": t.nn.functional,
        "nn": t.nn,
        "x": t.rand(3, 4).requires_grad_(),
        "y": t.rand(3, 4).requires_grad_(),
        "v": t.rand(4).requires_grad_(),
        "square": (t.rand(3, 3) + 3 * t.eye(3)).requires_grad_(),
        "image": t.rand(2, 4, 6, 6).requires_grad_(),
        "z": t.complex(t.rand(3), t.rand(3)).requires_grad_(),
        "target": t.rand(3, 4),
        "classes": t.tensor([0, 1, 2]),
        "mask": t.rand(3, 4) > 0.5,
        "kernel": t.rand(5, 4, 2, 2).requires_grad_(),
        "zeros": t.zeros(4),
    }


EXPRESSIONS = """
x + y; x + 1; x - y; 1 - x; x * 2; x / y; 2 / x; x ** 2; x ** y; 2 ** x; -x; x.exp(); x.log1p(); x.square(); x.sqrt()
x.clamp(0, 1); x.clamp(min=0); t.clamp(x, y, y); t.fmod(x, y); t.remainder(x, y); x % 2; t.lerp(x, y, 0.5)
t.lerp(x, y, y); t.where(mask, x, y); x.masked_fill(mask, 0.0); x.abs(); z.abs(); z.real; t.maximum(x, y)
x @ y.t(); x @ v; v @ v; t.bmm(x[None], y.t()[None]); x[None] @ y.t()[None]; image @ image; t.outer(v, v)
t.addmm(square, x, y.t())
t.addcmul(x, x, y); t.addcdiv(x, x, y); t.baddbmm(square[None], x[None], y.t()[None]); t.cdist(x, y)
x[0]; x[:, 0]; x[0, 0]; x[1:]; x[:, 1:3]; x[None]; x[...]; x[:]; x[classes]; x[mask]; x[classes, classes]; x[1:, 0]
x.select(0, 1); x.narrow(0, 0, 2); x.unsqueeze(0); x[None].squeeze(); x[None].squeeze(0); x.view(12); x.flatten()
x.permute(1, 0); x.transpose(0, 1); x.expand(2, 3, 4); t.cat([x, y]); t.stack([x, y]); x.split(2)[0]; x.unbind()[0]
x.chunk(2)[0]; x.double(); x.half(); x.to(t.float64); x.clone(); x.detach().requires_grad_().repeat(2, 1)
x.sum(); x.sum(0); x.mean(); x.mean(1, keepdim=True); x.prod(); x.prod(0); x.max(); x.min(); x.amax(0); x.amin(1)
x.var(); x.std(0); x.norm(); x.logsumexp(0); x.cumsum(0); x.sort(0)[0]; x.topk(2, 0)[0]; x.gather(1, classes[:, None])
F.relu(x); F.gelu(x); F.silu(x); F.elu(x); F.selu(x); F.leaky_relu(x); F.softplus(x); F.logsigmoid(x); F.glu(x)
F.prelu(x, v); F.softmax(x, 1); F.log_softmax(x, 1); F.dropout(x, 0.5); F.embedding(classes, x); F.pad(x, (1, 1))
F.linear(x, y); F.linear(x, y, v[:3]); F.linear(image, t.rand(5, 6), t.rand(5)); F.linear(image, t.rand(5, 6))
F.layer_norm(x, (4,)); F.layer_norm(x, (4,), v, v); F.group_norm(image, 2); F.batch_norm(x, zeros, zeros + 1)
F.batch_norm(x, zeros, zeros, training=True); F.conv2d(image, kernel); F.max_pool2d(image, 2)
F.scaled_dot_product_attention(image, image, image)
F.mse_loss(x, target); F.mse_loss(x, target, reduction="sum"); F.mse_loss(x, target, reduction="none")
F.l1_loss(x, target); F.smooth_l1_loss(x, target); F.huber_loss(x, target); F.cross_entropy(x, classes)
F.cross_entropy(x, classes, reduction="sum"); F.cross_entropy(x, classes, reduction="none")
F.cross_entropy(image, t.zeros(2, 6, 6, dtype=t.int64)); F.nll_loss(F.log_softmax(x, 1), classes)
F.binary_cross_entropy(x, target); F.binary_cross_entropy_with_logits(x, target); F.kl_div(x, target)
F.soft_margin_loss(x, target); F.multi_margin_loss(x, classes)
nn.Linear(4, 2)(x); nn.Linear(4, 2, bias=False)(x); nn.LayerNorm(4)(x); nn.BatchNorm2d(4)(image)
nn.Conv2d(4, 2, 3)(image); nn.Embedding(5, 3)(classes); nn.TransformerEncoderLayer(6, 2)(image[0])
x.clone().add_(1); x.clone().mul_(y); x.clone().relu_(); t.inverse(square); t.det(square); t.linalg.svd(x)[1]
t.linalg.qr(x)[0]; t.linalg.eigh(square)[0]; t.linalg.cholesky(square @ square.t()); t.linalg.solve(square, x)
"""


@cases("expression", split(EXPRESSIONS))
def test_a_node_has_the_name_that_pytorch_gives_it(expression: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (eval(expression, operands(t)) for t in (mg, torch))
    assert ours.grad_fn.name() == theirs.grad_fn.name()
    assert type(ours.grad_fn).__name__ == type(theirs.grad_fn).__name__
    assert f"grad_fn=<{type(theirs.grad_fn).__name__}>" in repr(ours)


def test_the_table_names_existing_ops() -> None:
    import_module("minigrad.compat.ops.registry")
    assert set(nodes._NAMES) <= set(REGISTRY)


def test_an_assignment_is_called_copy_slices(t: Any) -> None:
    x = t.ones(3, requires_grad=True).clone()
    x[0] = 2
    assert x.grad_fn.name() == "torch::autograd::CopySlices" and type(x.grad_fn).__name__ == "CopySlices"


def test_the_edges_of_a_node(t: Any) -> None:
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)

    def edges(z: Any) -> list[Any]:
        return [None if node is None else type(node).__name__ for node, _ in z.grad_fn.next_functions]

    assert edges(x * y) == ["AccumulateGrad"] * 2
    assert edges(x * 2) == edges(x * t.ones(2)) == edges(x + 5) == ["AccumulateGrad", None]
    assert edges(3 * (x * y)) == ["MulBackward0", None] and edges(2 - x) == ["AccumulateGrad"]
    assert edges(x**2) == edges(x.exp()) == ["AccumulateGrad"]
    z = x * y
    assert (z + 1).grad_fn.next_functions[0][0] is z.grad_fn


def test_saved_tensors(t: Any) -> None:
    x, y = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0])
    z = x * y
    assert z.grad_fn._saved_other is y
    h = x * 1
    node = (h * h).grad_fn
    assert node._saved_self is h and node._saved_self.grad_fn is h.grad_fn
    e = x.exp()
    assert t.equal(e.grad_fn._saved_result, e) and e.grad_fn._saved_result.grad_fn is e.grad_fn
    assert (x**3).grad_fn._saved_exponent == 3 and x.sum(0).grad_fn._saved_self_sym_sizes == (2,)
    e.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = e.grad_fn._saved_result
    for missing in ("_saved_nothing", "nothing", "_saved_other"):
        raises(AttributeError, missing.removeprefix("_saved_"), partial(getattr, e.grad_fn, missing))


def test_metadata_lives_as_long_as_the_node(t: Any) -> None:
    class Marker:
        dead = False

        def __del__(self) -> None:
            Marker.dead = True

    y = t.ones(1, requires_grad=True).exp()
    y.grad_fn.metadata["mark"] = Marker()
    assert isinstance(y.grad_fn.metadata["mark"], Marker)
    del y
    assert Marker.dead


def test_the_node_of_a_function_shows_its_context(t: Any) -> None:
    class Scale(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any, factor: float = 3.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.factor = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    x = t.ones(2, requires_grad=True)
    y = Scale.apply(x)
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ScaleBackward"
    assert y.grad_fn.factor == 3.0 and y.grad_fn.saved_tensors[0] is x
    assert [type(node).__name__ for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_callbacks_at_the_end_of_the_pass(t: Any) -> None:
    engine = t.autograd.Variable._execution_engine
    order: list[str] = []
    x = t.ones(1, requires_grad=True)

    def first() -> None:
        order.append("first")
        engine.queue_callback(lambda: order.append("second"))

    def hook(gradient: Any) -> None:
        engine.queue_callback(first)
        order.append("hook")

    x.register_hook(hook)
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("accumulated"))
    (x * 2).sum().backward()
    assert order == ["hook", "accumulated", "first", "second"]
    raises(RuntimeError, "during backward pass", lambda: engine.queue_callback(lambda: None))


def test_the_number_of_changes(t: Any) -> None:
    x = t.zeros(3)
    v = x[1:]
    versions = [x._version]
    for change in (lambda: x.add_(1), lambda: v.mul_(2), lambda: x.__setitem__(0, 5.0), lambda: x.detach().zero_()):
        change()
        versions.append(x._version)
    t.autograd.graph.increment_version(x)
    assert [*versions, v._version] == [0, 1, 2, 3, 4, 5] and x.clone()._version == 0


def test_saved_tensors_must_be_unchanged(t: Any) -> None:
    a = t.ones(2, requires_grad=True) * 1
    y = a * a
    a.add_(1)
    raises(RuntimeError, "modified by an inplace operation", lambda: y.grad_fn._saved_self)
