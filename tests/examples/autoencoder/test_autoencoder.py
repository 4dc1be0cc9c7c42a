"""Autoencoders: digits through a code, denoising, sentences through one vector, and the command line."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.autoencoder import __main__ as cli, codes, denoising, learning, sentences
from examples.autoencoder.baselines import agreement, least_squares, principal, squared_error
from examples.autoencoder.learning import PictureBatches
from examples.autoencoder.sentences import ATTENTION, ONE, Copied, SentenceBatches
from minigrad_models.text.tokenizer import BOS, EOS
from minigrad_models.training import Outcome
from minigrad_models.viz.blocks import Chart, Checked, Choice, Matrix, Pictures, Section, Text

READY = ".plane canvas[data-code]"

READY = ".plane canvas[data-code]"


@pytest.fixture(scope="session")
def coded() -> codes.Codes:
    """The two-unit bottleneck after a fifth of its updates."""
    return codes.trained(500, seed=0)


@pytest.fixture(scope="session")
def denoised() -> denoising.Denoised:
    """The denoiser after a fifth of its updates."""
    return denoising.trained(500, seed=0)


@pytest.fixture(scope="session")
def copied() -> sentences.Copied:
    """Both sentence models after a few updates on a few sentences."""
    return sentences.trained(6, seed=0, sentences=300, held_out=80)


def claims(sections: list[Section]) -> dict[str, bool]:
    return {b.claim: b.holds for section in sections for b in section.blocks if isinstance(b, Checked)}


def test_two_numbers_keep_more_than_two_components(coded: codes.Codes) -> None:
    x = codes.flat(coded.unseen)
    assert squared_error(coded.back(coded.unseen), x) < 0.8 * squared_error(coded.principal.back(x), x)
    assert coded.encode(coded.unseen).shape == (599, 2) and len(coded.known.labels) == 1198
    assert [*claims(codes.sections(coded)).values()] == [True, True]
    wrong = coded._replace(principal=principal(codes.flat(coded.known), 64))  # loses nothing, and keeps all distances
    assert [*claims(codes.sections(wrong)).values()] == [False, False]


def test_the_network_denoises_better_than_a_linear_map(denoised: denoising.Denoised) -> None:
    errors = {name: np.array(denoised.errors(name)) for name in denoised.cleaned}
    middle = slice(3, 7)
    others = np.array([errors[name][middle] for name in errors if name != denoising.NETWORK])
    assert (errors[denoising.NETWORK][middle] < others).all()
    assert errors[denoising.EQUAL][0] < errors[denoising.NETWORK][0]  # as the text says: better without noise
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


def test_batches_depend_only_on_their_position() -> None:
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


def test_principal_components() -> None:
    x = np.random.default_rng(0).normal(size=(50, 6)) @ np.diag([5, 4, 3, 0.2, 0.1, 0.1])
    sizes = np.linalg.svd(x - x.mean(0), compute_uv=False)
    for count in (0, 2, 6):
        fitted = principal(x, count)
        assert fitted.encode(x).shape == (50, count)
        residual = (sizes[count:] ** 2).sum() / 50
        assert squared_error(fitted.back(x), x) == pytest.approx(residual, abs=1e-12)


def test_least_squares_recovers_a_linear_map() -> None:
    generator = np.random.default_rng(0)
    x, weight, bias = (generator.normal(size=size) for size in ((40, 5), (5, 5), (5,)))
    fitted = least_squares(x, x @ weight.T + bias)
    np.testing.assert_allclose(fitted(x[:3]), x[:3] @ weight.T + bias, atol=1e-12)


def test_agreement_counts_votes() -> None:
    vectors, labels = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([1, 1, 2, 2])
    assert agreement(np.array([[0.2], [9.0]]), np.array([1, 1]), vectors, labels, count=3) == 0.5
    assert agreement(np.array([[0.2], [9.0]]), np.array([1, 2]), vectors, labels, count=1) == 1


def test_a_pair_is_a_sentence_and_its_copy(copied: Copied) -> None:
    batches = SentenceBatches(copied.sentences, seed=3)
    rows = list(batches.epoch(0))
    read = [row for source, _ in rows for row in source.tolist()]
    targets = [row for _, target in rows for row in target.tolist()]
    assert len(read) == 80 and all([BOS, *a] == b for a, b in zip(read, targets, strict=True))
    assert all(EOS in row for row in read)
    later = list(batches.epoch(0, start=1))
    assert len(later) == len(rows) - 1 and all(mg.equal(a[0], b[0]) for a, b in zip(later, rows[1:], strict=True))


def test_copied_sentences_are_counted(copied: Copied) -> None:
    """One vector loses all sentences of nine or more words; attention loses every tenth sentence."""
    wrong = [0]
    one = [s if len(s) < 9 else wrong for s in copied.sentences]
    attention = [wrong if i % 10 == 0 else s for i, s in enumerate(copied.sentences)]
    lesson = sentences.sections(copied._replace(written={ONE: one, ATTENTION: attention}))
    blocks = [b for section in lesson for b in section.blocks]
    (chart,) = (b for b in blocks if isinstance(b, Chart))
    for series in chart.series[:1]:
        assert list(series.y) == [100.0 if x < 9 else 0.0 for x in series.x]
    counts = np.bincount(copied.lengths)
    assert list(chart.series[0].x) == [n for n, count in enumerate(counts) if count >= sentences.LEAST]
    quarter = copied.longest_quarter()
    assert copied.lengths[quarter].min() > copied.lengths[~quarter].max() and 0.25 <= quarter.mean() < 0.6
    (weights,) = (b for b in blocks if isinstance(b, Matrix))
    assert weights.rows[-1] == "⟨end⟩" and weights.array.shape == (len(weights.rows), len(weights.columns))
    assert [*claims(lesson).values()] == [True, True, True]


def test_claims_can_fail_and_a_list_of_errors_can_be_empty(copied: Copied) -> None:
    lesson = sentences.sections(copied._replace(written={ONE: copied.sentences, ATTENTION: copied.sentences}))
    assert [*claims(lesson).values()][:2] == [False, False]
    assert Text("None: every sentence was repeated exactly.") in lesson[1].blocks


def test_invalid_options(refused: Callable[..., None]) -> None:
    for arguments, message in (
        (["digits"], "unknown part 'digits'; choose from codes, denoising, sentences"),
        (["--updates", "0"], "expected a whole number from 1 to 1,000,000, not '0'"),
        (["--updates", "many"], "not 'many'"),
        (["--sentence-updates", "-3"], "not '-3'"),
        (["--seed", "x"], "argument --seed: expected a whole number from 0 to 9,223,372,036,854,775,807, not 'x'"),
        (["--seed=-1"], "not '-1'"),
        (["--seed", str(2**63)], "9,223,372,036,854,775,807, not '9223372036854775808'"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ):
        refused(arguments, message, 2)


@pytest.mark.nightly
def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], opened: Callable[..., Any]) -> None:
    assert cli.main(["codes", "--updates", "300", "--save", str(tmp_path / "pages")]) == 0
    output = capsys.readouterr()
    assert "[ok] held-out digits are reconstructed with less error than from two principal components" in output.out
    assert "training digits through two numbers: 37,506 parameters, 300 updates" in output.err
    page = opened(tmp_path / "pages" / "autoencoder.html", color_scheme="dark")
    assert page.locator(".checked").count() == 2 and page.locator(".pictures canvas").count() == 15
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_seed_gives_the_same_numbers_and_no_extra_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("matplotlib", "tokenizers", "tqdm", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    texts = []
    for seed in ("4", "4", str(2**63 - 1)):
        assert cli.main(["codes", "denoising", "--updates", "1", "--seed", seed]) == 1
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    assert "[WRONG]" in texts[0] and "Noise as a teacher" in texts[0]


def test_ctrl_c_ends_the_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(learning.Trainer, "fit", lambda self: Outcome("interrupted", 3, 1.0, None, 0))
    assert cli.main(["codes"]) == 130
    assert not capsys.readouterr().out
