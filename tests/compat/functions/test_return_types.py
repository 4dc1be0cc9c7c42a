"""Tuples with named elements."""

import copy
import pickle

import pytest

import minigrad
from minigrad.compat.functions import return_types
from tests.support.cases import raises


def test_elements_have_names() -> None:
    result = minigrad.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    values, indices = result
    assert isinstance(result, tuple) and result._fields == ("values", "indices")
    assert (result.values is values, result.indices is indices) == (True, True)
    assert (values.tolist(), indices.tolist()) == ([3.0, 4.0], [1, 0])
    with pytest.raises(AttributeError):
        result.values = values


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_have_the_same_type(way: object) -> None:
    result = return_types.frexp(0.5, 3)
    twin = way(result)  # type: ignore[operator]
    assert type(twin) is return_types.frexp and twin == result and twin.exponent == 3


def test_the_types_are_named_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    kinds = {name: kind for name, kind in vars(torch.return_types).items() if hasattr(kind, "n_fields")}
    public = [name for name in kinds if not name.startswith("_") and not name.endswith("_out")]
    assert len(public) > 30
    for name in public:
        theirs, own = kinds[name], getattr(return_types, name)
        assert (own.__name__, own._fields, own.n_fields) == (theirs.__name__, theirs.__match_args__, theirs.n_fields)
        result = own([*range(own.n_fields)])
        assert repr(result).replace("minigrad", "torch") == repr(theirs(range(theirs.n_fields)))
        assert [getattr(result, name) for name in own._fields] == [*result] == [*range(own.n_fields)]


def test_functions_with_two_names_have_two_types() -> None:
    x = minigrad.eye(2)
    assert type(x.slogdet()) is return_types.slogdet and type(minigrad.linalg.slogdet(x)) is return_types.linalg_slogdet
    assert type(minigrad.lu(x, get_infos=True)) is return_types._lu_with_info
    message = r"histogramdd\(\) takes \(hist, bin_edges\), but got 3 values"
    raises(TypeError, message, lambda: return_types.histogramdd([1, 2, 3]))


def test_a_missing_element_is_refused() -> None:
    raises(TypeError, r"linalg_qr\(\) takes \(Q, R\), but got 1 values", lambda: return_types.linalg_qr(1))
