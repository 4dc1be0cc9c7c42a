"""Digits through a code: better than linear codes, the same in the page as in minigrad, and cleaned of noise."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from examples.autoencoder import codes, denoising
from examples.autoencoder.baselines import agreement, least_squares, principal, squared_error
from examples.autoencoder.learning import PictureBatches
from examples.lesson.blocks import Checked, Choice, Pictures, Section


def claims(sections: list[Section]) -> dict[str, bool]:
    return {b.claim: b.holds for section in sections for b in section.blocks if isinstance(b, Checked)}


# Two numbers ------------------------------------------------------------------------------------------------


def test_two_numbers_keep_more_than_two_components(coded: codes.Codes) -> None:
    x = codes.flat(coded.unseen)
    assert squared_error(coded.back(coded.unseen), x) < 0.8 * squared_error(coded.principal.back(x), x)
    assert coded.encode(coded.unseen).shape == (599, 2) and len(coded.known.labels) == 1198
    assert all(claims(codes.sections(coded)).values()) and len(claims(codes.sections(coded))) == 2


def test_a_claim_can_fail(coded: codes.Codes) -> None:
    x = codes.flat(coded.known)
    sections = codes.sections(coded._replace(principal=principal(x, 64)))
    assert list(claims(sections).values()) == [False, False]  # 64 components lose nothing, and know their neighbours


# Noise ------------------------------------------------------------------------------------------------------


def test_the_network_cleans_better_than_what_is_linear(denoised: denoising.Denoised) -> None:
    errors = {name: np.array(denoised.errors(name)) for name in denoised.cleaned}
    middle = slice(3, 7)
    others = np.array([errors[name][middle] for name in errors if name != denoising.NETWORK])
    assert (errors[denoising.NETWORK][middle] < others).all()
    assert errors[denoising.EQUAL][0] < errors[denoising.NETWORK][0]  # as the text says: without noise it is better
    assert errors[denoising.NOTHING][0] == 0 and (np.diff(errors[denoising.NOTHING]) > 0).all()


def test_a_share_of_the_pixels_is_erased(denoised: denoising.Denoised) -> None:
    clean = codes.flat(denoised.unseen)
    for share, noisy in denoised.noisy.items():
        assert ((noisy == clean) | (noisy == 0)).all()
        assert (noisy == 0)[clean > 0].mean() == pytest.approx(share, abs=0.02)


def test_the_section_on_noise(denoised: denoising.Denoised) -> None:
    (section,) = denoising.sections(denoised)
    (choice,) = (b for b in section.blocks if isinstance(b, Choice))
    assert choice.names[choice.start] == "40 %" and len(choice.options) == len(denoising.SHARES)
    assert all(isinstance(o, Pictures) and len(o.pictures) == 30 and o.across == 5 for o in choice.options)
    worse = {**denoised.cleaned, denoising.NETWORK: denoised.cleaned[denoising.NOTHING]}
    assert list(claims(denoising.sections(denoised._replace(cleaned=worse))).values()) == [False]


def test_batches_are_functions_of_their_place() -> None:
    batches = PictureBatches(mg.rand(150, 9) + 0.1, seed=1, most=0.8)
    epoch = list(batches.epoch(2))
    assert [len(batch.clean) for batch in epoch] == [64, 64, 22]
    for again, batch in zip(batches.epoch(2, start=1), epoch[1:], strict=True):
        assert mg.equal(again.clean, batch.clean) and mg.equal(again.read, batch.read)
    assert not mg.equal(next(batches.epoch(3)).read, epoch[0].read)
    shares = (mg.cat([batch.read for batch in epoch]) == 0).float().mean(-1)
    assert float(shares.min()) < 0.15 and float(shares.max()) > 0.6 and 0.3 < float(shares.mean()) < 0.5
    plain = next(PictureBatches(mg.rand(10, 9), seed=1).epoch(0))
    assert plain.read is plain.clean


# Baselines --------------------------------------------------------------------------------------------------


def test_principal_components() -> None:
    x = np.random.default_rng(0).normal(size=(50, 6)) @ np.diag([5, 4, 3, 0.2, 0.1, 0.1])
    sizes = np.linalg.svd(x - x.mean(0), compute_uv=False)
    for count in (0, 2, 6):
        fitted = principal(x, count)
        assert fitted.encode(x).shape == (50, count)
        lost = (sizes[count:] ** 2).sum() / 50
        assert squared_error(fitted.back(x), x) == pytest.approx(lost, abs=1e-12)


def test_least_squares_recover_a_linear_map() -> None:
    generator = np.random.default_rng(0)
    x, weight, bias = (generator.normal(size=size) for size in ((40, 5), (5, 5), (5,)))
    fitted = least_squares(x, x @ weight.T + bias)
    np.testing.assert_allclose(fitted.weight, weight, atol=1e-12)
    np.testing.assert_allclose(fitted.apply(x[:3]), x[:3] @ weight.T + bias, atol=1e-12)


def test_agreement_counts_votes() -> None:
    known, labels = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([1, 1, 2, 2])
    assert agreement(np.array([[0.2], [9.0]]), np.array([1, 1]), known, labels, count=3) == 0.5
    assert agreement(np.array([[0.2], [9.0]]), np.array([1, 2]), known, labels, count=1) == 1
