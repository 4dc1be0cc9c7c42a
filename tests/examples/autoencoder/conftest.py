"""What the tests of the autoencoders share: a browser, and small trainings."""

from __future__ import annotations

import pytest

from examples.autoencoder import codes, denoising, sentences
from tests.support.browser import browser, open_file  # noqa: F401  # fixtures


@pytest.fixture(scope="session")
def coded() -> codes.Codes:
    """The bottleneck of two after a fifth of its updates."""
    return codes.trained(500, seed=0)


@pytest.fixture(scope="session")
def denoised() -> denoising.Denoised:
    """The denoiser after a fifth of its updates."""
    return denoising.trained(500, seed=0)


@pytest.fixture(scope="session")
def copied() -> sentences.Copied:
    """Both models of sentences after a few updates on a few sentences."""
    return sentences.trained(6, seed=0, sentences=300, held_out=80)
