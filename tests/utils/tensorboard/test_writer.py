"""SummaryWriter's files, read back by TensorBoard's own reader, and against PyTorch's."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import raises
from tests.support.parity import torch

ROOT = Path(__file__).parents[3]

pytest.importorskip("tensorboard")
reader = import_module("tensorboard.backend.event_processing.event_accumulator")
files = import_module("tensorboard.backend.event_processing.event_file_loader")
event_file_writer: Any = import_module("tensorboard.summary.writer.event_file_writer")
SummaryWriter: Any = import_module("minigrad.utils.tensorboard").SummaryWriter


def read(folder: Path) -> Any:
    """TensorBoard's contents of a folder."""
    kinds = ("scalars", "histograms", "images", "tensors")
    events = reader.EventAccumulator(str(folder), size_guidance=dict.fromkeys(kinds, 0))  # 0: all of them
    events.Reload()
    return events


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Any]:
    with SummaryWriter(tmp_path / "run") as board:
        yield board


def test_scalars(writer: Any) -> None:
    writer.add_scalar("loss/train", 0.5, 1, walltime=12.0)
    writer.add_scalar("loss/train", minigrad.tensor([0.25], requires_grad=True), 2)
    writer.add_scalar("loss/train", np.float64(0.125), minigrad.tensor(3))
    writer.flush()
    events = read(writer.log_dir)
    assert [(e.step, e.value) for e in events.Scalars("loss/train")] == [(1, 0.5), (2, 0.25), (3, 0.125)]
    assert events.Scalars("loss/train")[0].wall_time == 12.0
    raises(ValueError, r"'many' has shape \(2,\)", lambda: writer.add_scalar("many", minigrad.zeros(2)))


def test_scalars_in_one_chart(writer: Any) -> None:
    writer.add_scalars("loss/both", {"train": 1.0, "valid": 2.0}, 5)
    writer.add_scalars("loss/both", {"train": 3.0}, 6)
    writer.close()
    runs = {p.name: read(p) for p in Path(writer.log_dir).iterdir() if p.is_dir()}
    assert sorted(runs) == ["loss_both_train", "loss_both_valid"]
    train = runs["loss_both_train"].Scalars("loss/both")
    assert [(e.step, e.value) for e in train] == [(5, 1.0), (6, 3.0)]


PICTURE = np.arange(24, dtype=np.uint8).reshape(3, 2, 4) * 10  # channels, height, width
WRITES: dict[str, Callable[[Any, Any], None]] = {
    "scalar": lambda w, t: w.add_scalar("x", t.tensor(1.5), 3),
    "scalar, no step": lambda w, t: w.add_scalar("x", 2.5),
    "scalar, double of the old style": lambda w, t: w.add_scalar("x", 0.1, 3, double_precision=True),
    "histogram": lambda w, t: w.add_histogram("x", t.linspace(-1, 2, 50).reshape(5, 10), 3),
    "histogram of zeros": lambda w, t: w.add_histogram("x", t.zeros(4), 3),
    "histogram, bins": lambda w, t: w.add_histogram("x", np.arange(20.0), 3, bins=[-5, 0, 3, 7, 50, 60]),
    "histogram, auto": lambda w, t: w.add_histogram("x", np.arange(20.0) ** 2, 3, bins="auto"),
    "text": lambda w, t: w.add_text("x", "a *text*: \u00e9", 3),
    "picture": lambda w, t: w.add_image("x", t.tensor(PICTURE), 3),
    "picture, HWC": lambda w, t: w.add_image("x", PICTURE.transpose(1, 2, 0) / np.float32(255), 3, dataformats="HWC"),
    "picture, grey": lambda w, t: w.add_image("x", PICTURE[0], 3, dataformats="HW"),
    "picture, one channel": lambda w, t: w.add_image("x", PICTURE[:1], 3),
    "picture, WH": lambda w, t: w.add_image("x", PICTURE[0].T, 3, dataformats="WH"),
    "picture, four channels": lambda w, t: w.add_image("x", np.stack([*PICTURE, PICTURE[0]]), 3),
    "pictures": lambda w, t: w.add_images("x", np.stack([PICTURE] * 10), 3),
}


def events(folder: Path) -> list[Any]:
    """The events in a folder's file, without times and the writer's metadata."""
    events = [event for file in sorted(folder.iterdir()) for event in files.EventFileLoader(str(file)).Load()]
    for event in events:
        event.ClearField("wall_time")
        event.ClearField("source_metadata")
    return events


def test_events_are_pytorchs(tmp_path: Path) -> None:
    theirs = import_module("torch.utils.tensorboard").SummaryWriter
    for name, write in WRITES.items():
        for kind, library in ((SummaryWriter, minigrad), (theirs, torch)):
            with kind(tmp_path / name / library.__name__) as writer:
                write(writer, library)
        assert events(tmp_path / name / "minigrad") == events(tmp_path / name / "torch"), name


def test_histograms_with_bins_joined(writer: Any) -> None:
    writer.add_histogram("joined", np.array([0.1, 0.2, 0.9]), 1, bins=[0, 0.25, 0.5, 0.75, 1, 2], max_bins=3)
    writer.flush()
    joined = read(writer.log_dir).Histograms("joined")[0].histogram_value
    assert (joined.bucket_limit, joined.bucket) == ([0, 0.5, 1], [0, 2, 1])
    assert (joined.min, joined.max, joined.num) == (0.1, 0.9, 3)
    raises(ValueError, "no element", lambda: writer.add_histogram("empty", minigrad.zeros(0)))


def test_figures_and_shapes_that_are_no_picture(writer: Any) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    writer.add_figure("figure", figure, 1)
    writer.flush()
    event = read(writer.log_dir).Images("figure")[0]
    assert (event.height, event.width) == (50, 100)
    assert not pyplot.fignum_exists(figure.number)
    for shape, axes in (((2, 3), "CHW"), ((3, 2, 2), "HW"), ((2, 4, 4), "CHW"), ((3, 2, 2), "CHX")):
        raises(ValueError, r"axes|channels", lambda: writer.add_image("p", np.zeros(shape), dataformats=axes))  # noqa: B023


def test_the_folder_and_missing_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # TensorBoard reads files in the order of their names, which end with a number: 10 would sort before 9
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    with SummaryWriter(comment="_lr0.1", filename_suffix=".end") as board:
        assert board.get_logdir().startswith("runs/") and board.log_dir.endswith("_lr0.1")
        board.add_scalar("x", 1, 1)
        folder = board.log_dir
    assert all(path.name.endswith(".end") for path in Path(folder).iterdir())
    board.add_scalar("x", 2, 2)  # after close, in a new file
    board.close()
    with SummaryWriter(folder, purge_step=2, filename_suffix=".second") as second:
        second.add_scalar("x", 30, 2)
    assert [e.value for e in read(Path(folder)).Scalars("x")] == [1, 30]
    raises(NotImplementedError, r"add_graph is not supported.*add_text\('model'", lambda: second.add_graph(None))
    raises(NotImplementedError, "add_embedding is not supported", lambda: second.add_embedding(minigrad.zeros(2, 2)))
    assert not hasattr(second, "add_hparams")


def test_without_tensorboard_the_import_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "import minigrad.utils.tensorboard\n"
        "try: from minigrad.utils.tensorboard import SummaryWriter\n"
        "except ImportError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    assert "pip install tensorboard" in ran.stdout
