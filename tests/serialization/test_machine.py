"""Malicious pickles: their functions are not called, and they cannot exhaust the machine's memory or stack."""

import enum
import importlib
import io
import os
import pickle
import struct
import sys
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.serialization import load, safe_globals
from tests.fuzz.pickles import call, name, number, text
from tests.serialization.test_checkpoint import archive, tensor_pickle
from tests.support.cases import each

HEAD = b"\x80\x04"


class Evil:
    """Pickles as a call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.told = function, args

    def __reduce__(self) -> Any:
        return self.told


def harm(*args: Any) -> Any:
    """A function that pickles of these tests try to call."""
    raise BaseException(f"a loaded file ran code: {args}")


@pytest.fixture(autouse=True)
def no_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace ``os.system``, in case a test fails."""
    monkeypatch.setattr(os, "system", harm)
    monkeypatch.setattr(importlib.import_module(os.name), "system", harm)


def refused(pickled: bytes) -> None:
    for file in (archive(pickled, {"0": bytes(8)}), legacy(pickled)):
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match="cannot load the BytesIO"):
            load(file)


def legacy(pickled: bytes) -> io.BytesIO:
    """The same object in the legacy format, used before PyTorch 1.6."""
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    return io.BytesIO(b"".join([*head, pickled, pickle.dumps([], 2)]))


def test_the_files_of_these_tests_are_read_where_they_are_harmless() -> None:
    for make in (archive, legacy):
        assert load(make(pickle.dumps({"a": [1, OrderedDict(b=2)]}, 4))) == {"a": [1, {"b": 2}]}
    with pytest.raises(BaseException, match="a loaded file ran code"):
        load(archive(pickle.dumps(Evil(harm), 4)), weights_only=False)


CALLS = [
    (harm, "echo"),
    (eval, "1"),
    (exec, "1"),
    (getattr, 1, "real"),
    (print, "x"),
    (open, "/etc/passwd"),
    (type, "X", (), {}),
    (minigrad.load, "x"),
    (minigrad.tensor, 1),
    (np.load, "x"),
    (io.BytesIO, b"x"),
]


def test_calls() -> None:
    def check(call: Any) -> None:
        for protocol in (2, 3, 4, 5):
            for obj in (Evil(*call), {"model": [OrderedDict(a=Evil(*call))]}, {Evil(*call): 1}):
                refused(pickle.dumps(obj, protocol))

    each(CALLS, check)


class Colour(enum.Enum):
    """A user-defined enumeration."""

    RED = 1


def test_only_members_of_an_enumeration_are_accessible() -> None:
    """Some Pythons (3.11.2 for one) save them as getattr(Colour, "RED")."""

    def check(member: Any) -> None:
        for protocol in (2, 5):
            pickled = pickle.dumps(Evil(getattr, Colour, member), protocol)
            refused(pickled)
            with safe_globals([Colour]):
                if member == "RED":
                    assert load(archive(pickled, {})) is Colour.RED
                else:
                    refused(pickled)

    each(["RED", "BLUE", "", "__class__", "mro", "__members__", "RED.__class__", 1], check)


NAMES = """
os system, posix system, builtins eval, __builtin__ eval, builtins setattr, builtins set.__class__,
collections OrderedDict.__init__, torch._utils _rebuild_tensor_v2.__globals__, torch load,
torch._utils _import_dotted_name, torch.storage _load_from_bytes, numpy load, numpy ndarray.dump, minigrad load,
minigrad.tensor np, copyreg add_extension, functools partial, operator attrgetter, __main__ x
"""


def test_names() -> None:
    def check(names: Any) -> None:
        reference = "c{}\n{}\n".format(*names).encode()
        refused(HEAD + reference + b".")
        refused(HEAD + text(names[0]) + text(names[1]) + b"\x93.")
        refused(HEAD + reference + b")R.")
        refused(HEAD + reference + b")\x81.")

    each([*map(str.split, NAMES.split(",")), ("", "")], check)


FLOAT64 = call("numpy.dtype", text("f8"))
ARRAY = call("numpy._core.multiarray._reconstruct", name("numpy.ndarray"), b")", b"C\x01b")
STATE = b"}" + text("keys") + b"Nsb"
WRONG = [b"I1\n", b"S'x'\n", b"(ios\nsystem\n", b"(cos\nsystem\nX\x01\x00\x00\x00xo", b"P1\n"]  # protocols 0 and 1
WRONG += [b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\x00\x00\x00", b"\x97", b"N\x98"]  # extensions, buffers out of band
WRONG += [call("builtins.list"), name("builtins.object") + b")\x81", call("builtins.int", text("1"))]
WRONG += [call(f"builtins.{kind}", number(10**12)) for kind in ("bytearray", "bytes")]
WRONG += [call("torch.FloatStorage"), call("torch.Tensor"), name("torch.nn.parameter.Parameter") + b")\x81"]
WRONG += [call("torch.device", text("disk")), call("torch.Size", text("12"))]
WRONG += [call("collections.defaultdict", name("collections.OrderedDict"))]
WRONG += [call("collections.OrderedDict") + STATE, name("collections.OrderedDict") + STATE]  # it shadows a method
WRONG += [name("torch._utils._rebuild_tensor_v2") + b"}" + text("__code__") + b"Nsb"]
WRONG += [name("torch._utils._rebuild_tensor_v2") + b"N}" + text("__defaults__") + b"Ns\x86b"]
WRONG += [tensor_pickle()[2:-1] + b"}" + text("array") + b"Nsb", b"]}" + text("x") + b"Nsb", b"N}b", b"}Nb"]
WRONG += [call("numpy.dtype", text(kind)) for kind in ("O", "V8", "(3,)f8,i4")]
WRONG += [ARRAY + b"(K\x01M\x10'\x85" + FLOAT64 + b"\x89C\x00tb"]  # more elements than bytes
WRONG += [call("numpy._core.multiarray.scalar", FLOAT64, raw) for raw in (b"C\x01x", b"C\x10" + bytes(16))]
WRONG += [call("minigrad.backend.dtype.named", text("x"))]
WRONG += [call("builtins.set", call("builtins.range", number(10**9)))]  # 40 GB
WRONG += [call("copyreg._reconstructor", name("os.system"), b"NN"), call("_codecs.encode", text("x"), text("rot13"))]
WRONG += [call("torch._tensor._rebuild_from_type_v2", name("builtins.set"), name("torch.Tensor"), b")}")]
WRONG += [call("torch._utils._rebuild_parameter", b"N\x89}")]
WRONG += [b"", b"0", b"1", b"(", b"h\x05", b"j\xff\xff\xff\xff", b"a", b"Ne", b"Ns", b"u", b"(NNNu", b"R", b"NNR"]
WRONG += [b"Q", b"NQ", b"KQQ", b")Q", text("storage") + b"Q", b"\x85", b"}(NN]u", b"}]Ns", b"\x8f(]\x90", b"(]\x91"]
WRONG += [b"\x8b\xff\xff\xff\x7f", b"\x8b\xff\xff\xff\xff", b"X\xff\xff\xff\xff", b"T\xff\xff\xff\xff"]
WRONG += [code + b"\xff" * 8 for code in (b"\x8e", b"\x8d", b"\x95")] + [
    b"\x96" + b"\x7f" * 8,
    b"X\x01\x00\x00\x00\xff",
]


def test_pickles_that_make_no_sense_or_harm() -> None:
    each(WRONG, lambda pickled: refused(HEAD + pickled + b"."))


@pytest.mark.skipif(sys.maxsize < 2**32, reason="on a 32-bit system Python itself refuses such indices")
def test_indices_and_frames_take_no_memory() -> None:
    put_it = b"r" + struct.pack("<I", 2**32 - 1)
    x = load(archive(HEAD + b"\x95" + b"\xff" * 8 + text("x") + put_it + b"0j" + struct.pack("<I", 2**32 - 1) + b"."))
    assert x == "x"


def test_depth() -> None:
    """Lists may be nested to any depth; a tuple that deep is not hashed, as that would overflow the stack."""
    deep = load(archive(HEAD + b"N" + b"\x85" * 5_000 + b"."))
    for _ in range(5_000):
        (deep,) = deep
    assert deep is None
    for within in (b"N" + b"\x85" * 5_000 + b"Ns", b"(N" + b"\x85" * 15_000 + b"Nu"):
        refused(HEAD + b"}" + within + b".")
    refused(HEAD + b"\x8f(N" + b"\x85" * 5_000 + b"\x90.")
    refused(HEAD + b"(N" + b"\x85" * 5_000 + b"\x91.")
    listed = b"](N" + b"\x85" * 5_000 + b"e\x85R."
    for kind in ("builtins.set", "builtins.frozenset", "collections.Counter"):
        refused(HEAD + name(kind) + listed)
    growing = b"N\x85\x94" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(40))
    refused(HEAD + b"}" + growing + b"Ns.")


def test_deques_within_deques() -> None:
    """Python frees them by recursion, as it does defaultdicts."""
    levels, empty = 50_000, name("collections.deque") + b")R"
    with safe_globals([deque]):
        assert load(archive(HEAD + empty * 3 + b"aa.")) == deque([deque([deque()])])
        refused(HEAD + empty * levels + b"a" * (levels - 1) + b".")
        from_within = HEAD + empty + b"q\x000" + (empty + b"h\x00aq\x000") * levels + b"h\x00"
        refused(from_within + b".")
        refused(from_within)  # which ends early


def test_states_are_set_only_on_new_objects() -> None:
    """An array's state is set once: a second state would move memory that views share."""
    array = pickle.dumps(np.ones(2), 2)[:-1]
    again = b"(K\x01K\x01\x85" + name("numpy.dtype") + text("f8") + b"\x85R\x89C\x08" + bytes(8) + b"tb."
    refused(array + again)


class Handy:
    """A class that a program allows."""

    def __init__(self) -> None:
        self.x = 1

    @staticmethod
    def run() -> None:
        raise BaseException("a method of an allowed class ran")


def test_only_allowed_names_are_allowed() -> None:
    with safe_globals([Handy]):
        assert load(archive(pickle.dumps(Handy(), 4))).x == 1
        refused(HEAD + f"c{Handy.__module__}\nHandy.run\n".encode() + b")R.")
        refused(HEAD + name(f"{Handy.__module__}.os") + b".")
        refused(HEAD + name(f"{Handy.__module__}.Handy") + b"}" + text("x") + b"Nsb.")  # a state for the class
        refused(pickle.dumps([Handy(), Evil(harm, "echo")], 4))
    refused(pickle.dumps(Handy(), 4))
