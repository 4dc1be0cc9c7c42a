"""The updates of presets on the GPU emulator: their number of kernel launches, and that they never wait."""

from pathlib import Path

import pytest

from tests.support import updates
from tests.support.cuda_emulator import missing
from tests.support.launches import Counts

pytestmark = pytest.mark.nightly
MOST = {"multi30k": 690, "toy": 380, "shakespeare": 360}  # launches per update of one batch


@pytest.fixture(scope="module", params=MOST)
def update(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Counts]:
    """A preset, and the launches of its update."""
    if missing():
        pytest.skip("needs a C++ compiler: kernels are launched, too")
    return request.param, updates.of(request.param, tmp_path_factory.mktemp(request.param), accumulate=1)


def test_an_update_never_waits_and_its_launches_are_few(update: tuple[str, Counts]) -> None:
    name, counts = update
    assert counts.sync_names == {}
    assert 0 < counts.launches <= MOST[name], counts.by_name.most_common(20)


def test_an_update_of_two_batches_never_waits(tmp_path: Path) -> None:
    assert updates.of("toy", tmp_path, accumulate=2).sync_names == {}
