"""Devices in PyTorch's spelling."""

import copy
import pickle

import pytest

import minigrad
from minigrad.backend import Device
from tests.support.cases import cases


def test_spellings() -> None:
    assert Device("cuda:1") == Device("cuda", 1) == Device(1) == Device(Device("cuda:1"))
    assert (Device("cuda:1").type, Device("cuda:1").index, Device("cuda").index) == ("cuda", 1, None)
    assert (str(Device("cuda:1")), str(Device("cpu"))) == ("cuda:1", "cpu")
    assert repr(Device("cuda:1")) == "device(type='cuda', index=1)"
    assert repr(Device()) == "device(type='cpu')"
    assert Device("cpu") == "cpu"
    assert Device("cpu") != Device("cuda")
    assert minigrad.device is Device


def test_as_a_key_and_copied() -> None:
    assert {Device("cuda:1"): 1}[Device("cuda", 1)] == 1
    for d in (Device("cpu"), Device("cuda:3")):
        assert pickle.loads(pickle.dumps(d)) == copy.deepcopy(d) == d


@cases("text", ["gpu", "cuda:", "cuda:x", "cuda:-1", "", "cpu:0:1"])
def test_invalid_devices(text: str) -> None:
    with pytest.raises(RuntimeError, match="is not a device: expected one of"):
        Device(text)


def test_devices_of_other_kinds_can_be_named_but_not_used() -> None:
    mps = minigrad.device("mps")
    assert (mps.type, mps.index, str(minigrad.device("xpu:1"))) == ("mps", None, "xpu:1")
    assert minigrad.ones(1).device != mps and minigrad.ones(1).device.type != minigrad.device("mps").type
    for make in (lambda: minigrad.ones(1, device=mps), lambda: minigrad.ones(1).to("mps")):
        with pytest.raises(RuntimeError, match="minigrad does not support 'mps' tensors: use 'cpu' or 'cuda'"):
            make()
