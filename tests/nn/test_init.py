"""Initial values: PyTorch's numbers from PyTorch's seed."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.cases import cases, programs, raises
from tests.support.layer_checks import check_first_numbers
from tests.support.parity import host, torch

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")

# drawn only from uniform numbers: bitwise equal
EXACT = programs("""
n.Linear(7, 5); n.Linear(13, 11, bias=False); n.Linear(301, 64);
n.Linear(7, 5, dtype=n.Linear(1, 1).double().weight.dtype); n.Bilinear(3, 4, 5); n.LayerNorm((3, 4)); n.RMSNorm(4);
n.MultiheadAttention(8, 2); n.MultiheadAttention(12, 3, bias=False, add_zero_attn=True);
n.MultiheadAttention(8, 2, kdim=6, vdim=10);
n.TransformerEncoder(n.TransformerEncoderLayer(8, 2, 16, norm_first=True), 2, enable_nested_tensor=False);
n.TransformerEncoderLayer(8, 2, 16); n.TransformerDecoderLayer(8, 2, 16, bias=False); n.Transformer(16, 4, 2, 2, 32);
n.Transformer(8, 2, 1, 3, 12, 0.2, "gelu", norm_first=True, bias=False)
""")
# through logarithms and cosines
NEAR = programs("""
n.Embedding(20, 6, padding_idx=3); n.Embedding(3, 5, -1); n.Embedding(50, 33, max_norm=1.0, scale_grad_by_freq=True);
n.MultiheadAttention(8, 2, add_bias_kv=True)
""")
FILLS = programs("""
i.uniform_(t, -0.3, 0.7); i.normal_(t, 0.5, 0.02); i.constant_(t, 0.25); i.ones_(t); i.zeros_(t); i.eye_(t);
i.xavier_uniform_(t, 1.7); i.xavier_normal_(t); i.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu");
i.kaiming_normal_(t, a=0.1)
""")


@cases("program, exact", [*((row, True) for row in EXACT), *((row, False) for row in NEAR)])
def test_one_seed_gives_pytorchs_numbers(program: str, exact: bool) -> None:
    check_first_numbers(lambda n: eval(program, {"n": n}), exact)


@cases("program", FILLS)
def test_functions(program: str) -> None:
    fill = lambda i, t: eval(program, {"i": i, "t": t})
    mine = nn.Parameter(minigrad.empty(2, 2))
    assert fill(nn.init, mine) is mine and mine.requires_grad and mine.is_leaf
    np.testing.assert_allclose(*draw_both(fill, (12, 9)), rtol=0, atol=5e-7)


@cases("dtype", ["float32", "float64"])
@cases("bounds", [(0.5, 2, -1, 3), (0.2, 1.5, -2, 1), (0, 1, 5, 6), (0, 1, -0.01, 0.01), (0, 1e-3, -2, 2)])
def test_trunc_normal(bounds: tuple[float, ...], dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual, expected = draw_both(lambda i, t: i.trunc_normal_(t, *bounds), (50, 7), dtype)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=5e-7 if dtype == "float32" else 1e-14)
    assert actual.min() >= bounds[2] and actual.max() <= bounds[3]


def draw_both(fill: Any, shape: tuple[int, ...], dtype: str = "float32") -> tuple[Any, Any]:
    """The draws of a function of ``init`` in both libraries, whose streams end at the same position."""
    out = []
    for library in (minigrad, torch):
        library.manual_seed(11)
        values = fill(library.nn.init, library.empty(*shape, dtype=getattr(library, dtype)))
        out += [host(values), library.rand(3).tolist()]
    assert out[1] == out[3]
    return out[0], out[2]


@cases("dtype", ["float32", "float64"])
@cases("shape", [(3, 4), (40, 7), (5, 50)])
def test_sparse_and_orthogonal_draw_as_pytorch(shape: tuple[int, ...], dtype: str) -> None:
    for fill in (lambda i, t: i.sparse_(t, 0.3, 0.5), lambda i, t: i.orthogonal_(t, 2)):
        actual, expected = draw_both(fill, shape, dtype)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 if dtype == "float32" else 1e-13)


@cases("shape, groups", [((4, 3, 3), 1), ((4, 3, 5), 2), ((6, 2, 3, 3), 3), ((2, 2, 3, 3, 2), 1)])
def test_dirac(shape: tuple[int, ...], groups: int) -> None:
    np.testing.assert_array_equal(*draw_both(lambda i, t: i.dirac_(t, groups), shape))


NAMES = ["uniform", "normal", "constant", "eye", "dirac", "orthogonal", "sparse"]
NAMES += [f"{kind}_{law}" for kind in ("xavier", "kaiming") for law in ("uniform", "normal")]
MORE: dict[str, tuple[Any, ...]] = {"constant": (0.5,), "sparse": (0.3,)}


@cases("name", NAMES)
def test_old_names_warn_and_work(name: str) -> None:
    shape = (3, 2, 3) if name == "dirac" else (3, 4)
    with pytest.warns(FutureWarning, match=f"`nn.init.{name}` is now deprecated in favor of"):
        actual, expected = draw_both(lambda i, t: getattr(i, name)(t, *MORE.get(name, ())), shape)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=5e-7)


@cases("name", [*sorted({*NAMES} - {"constant", "eye", "dirac"}), "trunc_normal"])
def test_every_function_takes_a_generator(name: str) -> None:
    def fill(init: Any, tensor: Any) -> Any:
        library = minigrad if init is nn.init else torch
        generator = library.Generator().manual_seed(9)
        return getattr(init, f"{name}_")(tensor, *MORE.get(name, ()), generator=generator)

    actual, expected = draw_both(fill, (4, 6))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=5e-7)


def test_errors() -> None:
    init, empty = nn.init, minigrad.empty
    raises(ValueError, "3, 4, or 5 dimensions", lambda: init.dirac_(empty(3, 3)))
    raises(ValueError, "divisible by groups", lambda: init.dirac_(empty(3, 3, 3), 2))
    raises(ValueError, "2 dimensions are supported", lambda: init.sparse_(empty(3), 0.5))
    raises(ValueError, "negative_slope True not a valid number", lambda: init.calculate_gain("leaky_relu", True))
    raises(ValueError, "Unsupported nonlinearity", lambda: init.calculate_gain("convolution"))
    raises(ValueError, "not supported", lambda: init._calculate_correct_fan(empty(3, 4), "fan"))
    raises(ValueError, "fewer than 2 dimensions", lambda: init.xavier_uniform_(empty(3)))
    raises(ValueError, "Mode fan_avg not supported", lambda: init.kaiming_uniform_(empty(3, 3), mode="fan_avg"))


def test_nothing_to_fill() -> None:
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        assert nn.Linear(0, 3).weight.shape == (3, 0)
    with pytest.warns(UserWarning, match="more than 2 std from"):
        nn.init.trunc_normal_(minigrad.empty(3), mean=5.0)


def test_gain_and_fans() -> None:
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    assert nn.init._calculate_fan_in_and_fan_out(minigrad.empty(4, 3, 2)) == (6, 8)
    for mode in ("fan_in", "FAN_OUT"):
        fans = [t.nn.init._calculate_correct_fan(t.empty(3, 4, 5), mode) for t in (minigrad, torch)]
        assert fans[0] == fans[1]
    names = ("linear", "conv2d", "conv_transpose3d", "tanh", "relu", "selu", "leaky_relu", "sigmoid")
    gains = [nn.init.calculate_gain(name) for name in names]
    assert gains == [torch.nn.init.calculate_gain(name) for name in names]
