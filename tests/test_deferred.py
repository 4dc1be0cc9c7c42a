"""Modules that are loaded when first needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from minigrad.deferred import Deferred
from minigrad.ops.approximations import gamma

LATER = [
    "minigrad.ops.approximations.bessel",
    "minigrad.fft",
    "minigrad.ops.decompositions",
    "minigrad.ops.convolution",
]


def test_names_are_those_of_the_module() -> None:
    module = Deferred("minigrad.ops.approximations.gamma")
    assert module.log_gamma is gamma.log_gamma
    with pytest.raises(AttributeError, match=r"approximations\.gamma.*nothing"):
        module.nothing


def test_the_import_of_minigrad_leaves_them_out() -> None:
    program = f"import sys, minigrad; print(*(name for name in {LATER} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
