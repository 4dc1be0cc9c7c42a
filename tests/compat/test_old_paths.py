"""Paths of earlier releases for modules now in ``minigrad_models``."""

import subprocess
import sys

PROGRAM = """
import importlib, sys, warnings
from minigrad import viz
from minigrad.compat.old_paths import PLACES, new_path

for old in PLACES:
    if old.startswith("viz."):
        continue
    is_new = f"minigrad.{old}" not in sys.modules  # otherwise a submodule of it was imported
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = importlib.import_module(f"minigrad.{old}")
    real = importlib.import_module(new_path(old))
    names = [name for name, value in vars(real).items() if name[0] != "_" and type(value) is not type(warnings)]
    assert all(getattr(module, name) is getattr(real, name) for name in names), old
    assert is_new == any(f"minigrad.{old} is now {new_path(old)}" in str(w.message) for w in caught), old
    assert all(w.category is FutureWarning and w.filename != importlib.__file__ for w in caught), old

import minigrad_models.viz
for name in ("training", "piano_roll", "embedding", "logit_lens", "positional_encoding"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert getattr(viz, name) is getattr(minigrad_models.viz, name)
    assert len(caught) == 1 and f"minigrad_models.viz.{name}" in str(caught[0].message)
import minigrad.viz.positional_encoding
assert viz.positional_encoding(3, 4).wavelength(0) > 6

try:
    import minigrad.models.nonesuch
except ModuleNotFoundError as error:
    assert "minigrad.models.nonesuch" in str(error), error
"""


def test_old_paths_lead_to_the_new_ones_with_a_warning() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
