"""Python's ``float``, ``complex``, ``int`` and ``bool`` as dtypes: float64, complex128, int64 and bool."""

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from tests.support.cases import cases
from tests.support.parity import in_torch_words, torch

MEANING = {float: "float64", complex: "complex128", int: "int64", bool: "bool"}
X = [[1.0, 2.0], [3.0, 4.0]]
NO_ARGUMENT = ("empty_like", "ones_like", "rand_like", "randn_like", "zeros_like", "to_dense", "type", "sum", "prod")
MEANS = ("mean", "nanmean", "nansum", "norm", "matrix_norm", "vector_norm", "amax", "amin")
DIM = ("cumprod", "cumprod_", "cumsum", "cumsum_", "log_softmax", "softmax", "softmin", "logsumexp", "median", "var")
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys((*NO_ARGUMENT, *MEANS, "to", "view", "view_copy", "argmax", "argmin"), (X,)),
    **dict.fromkeys(DIM, (X, 0)),
    **dict.fromkeys(("empty", "ones", "zeros", "rand", "randn"), (2, 2)),
    **dict.fromkeys(("new_empty", "new_ones", "new_zeros"), (X, 2, 2)),
    **dict.fromkeys(("tensor", "as_tensor", "asarray", "arange", "eye", "randperm", "scalar_tensor"), (2,)),
    **{f"{name}_window": (3,) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")},
    **dict.fromkeys(("linspace", "logspace"), (0, 1, 3)),
    **dict.fromkeys(("tril_indices", "triu_indices"), (2, 2)),
    "empty_permuted": ((2, 2), (1, 0)),
    "empty_strided": ((2, 2), (1, 2)),
    "frombuffer": (bytearray(32),),
    "full": ((2,), 1),
    "full_like": (X, 1),
    "logaddexp": (X, X),
    "new_empty_strided": (X, (2, 2), (1, 2)),
    "new_full": (X, (2,), 1),
    "new_tensor": (X, 1),
    "normalize": (X, 2.0, 0),
    "normal": (0.0, 1.0, (2,)),
    "randint": (0, 2, (2,)),
    "randint_like": (X, 0, 2),
    "range": (0, 2),
}
# These return no tensor, need a file, or set a state.
OTHERS = {"TypedStorage", "autocast", "from_file", "set_autocast_dtype", "set_default_dtype"}
PLACES: dict[str, Callable[[Any], Any]] = {
    "": lambda t: t,
    "Tensor": lambda t: t.Tensor,
    "nn.functional": lambda t: t.nn.functional,
    "linalg": lambda t: t.linalg,
    "special": lambda t: t.special,
    "masked": lambda t: t.masked,
}


def functions() -> Iterator[tuple[str, str]]:
    """All public functions that take a dtype: the module or class, and the name in it."""
    for place, find in PLACES.items():
        module = find(mg)
        listed = vars(module) if place == "Tensor" else getattr(module, "__all__", dir(module))
        for name in sorted(listed):
            function = getattr(module, name, None)
            if callable(function) and not isinstance(function, type) and name not in OTHERS and name[0] != "_":
                try:
                    parameters = signature(function).parameters
                except ValueError:
                    continue
                if "dtype" in parameters:
                    yield place, name


def outcome(t: Any, place: str, name: str, dtype: Any) -> str:
    """The dtype of a function's result, or the name of its error."""
    values = [t.tensor(v) if v is X else bytearray(v) if isinstance(v, bytearray) else v for v in ARGUMENTS[name]]
    try:
        result = getattr(PLACES[place](t), name)(*values, dtype=dtype)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:  # the dtype does not exist there
        return type(error).__name__
    return in_torch_words(result.dtype).removeprefix("torch.")


@pytest.mark.filterwarnings("ignore")  # warnings about prototypes, and casts that drop imaginary parts
@cases("place, name", list(functions()))
def test_a_python_type_is_the_dtype_it_names(place: str, name: str) -> None:
    """Every function that takes a dtype also takes the type."""
    for python, meaning in MEANING.items():
        dtype = mg.bool if python is bool else getattr(mg, meaning)
        assert outcome(mg, place, name, python) == outcome(mg, place, name, dtype), python


@pytest.mark.filterwarnings("ignore")
@cases("place, name", list(functions()))
def test_it_is_pytorchs(place: str, name: str) -> None:
    """The result has PyTorch's dtype if both libraries take the type."""
    for python in list(MEANING)[: 3 if (place, name) == ("masked", "prod") else 4]:  # for bools, int64 there
        there = hasattr(PLACES[place](torch), name) and (place, name) != ("Tensor", "type")  # PyTorch's needs a string
        theirs = outcome(torch, place, name, python) if there else "Error"
        ours = outcome(mg, place, name, python)
        assert "Error" in theirs or "Error" in ours or ours == theirs, python


def test_positional_dtypes_and_modules() -> None:
    """``to`` and ``view`` take a type by position; a module's parameters follow; operands keep the default dtype."""
    x = mg.ones(2)
    for python, meaning in MEANING.items():
        assert x.to(python).dtype == x.type(python).dtype == getattr(mg, meaning)
    assert x.view(float).shape == (1,)
    assert nn.Linear(2, 2, dtype=float).weight.dtype == nn.Linear(2, 2).to(float).weight.dtype == mg.float64
    assert nn.Linear(2, 2).to(complex).weight.dtype == mg.complex128
    with pytest.raises(TypeError, match="floating point or complex"):
        nn.Linear(2, 2).to(int)
    assert mg.promote_types(float, mg.int8) == mg.float64 and mg.finfo(float).bits == 64
    assert (x * 2.5).dtype == mg.full((2,), 1.0).dtype == mg.result_type(x, 1.0) == mg.float32
    assert (x * 2j).dtype == mg.result_type(mg.ones(2, dtype=int), 2j) == mg.complex64
