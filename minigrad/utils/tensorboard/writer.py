"""SummaryWriter: writes numbers, images and text from a training run to files for TensorBoard.

The ``tensorboard`` package writes the files. An entry is a dict with the fields of its ``Summary.Value`` message.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partialmethod
from typing import Any

import numpy as np

from ...backend.host import host

Ndarray = np.ndarray[Any, Any]
Time = float | None  # seconds since 1970; None means now

# ``add_hparams`` is missing on purpose, as programs check for it
_INSTEAD = {
    "add_text('model', str(model)) shows the layers of a model": "add_graph add_onnx_graph",
    "draw it with matplotlib, and use add_figure": "add_embedding add_image_with_boxes add_mesh add_pr_curve",
    "save it with minigrad.save, or show its numbers with add_histogram": "add_tensor",
    "write frames with add_image, one per step": "add_video",
    "write a file with Python's wave module": "add_audio",
    "begin the tags of related charts with the same prefix, or use add_scalars": "add_custom_scalars",
}


class SummaryWriter:
    """Writes files for ``tensorboard --logdir runs``.

    Every method accepts ``global_step``, the x-axis position, and ``walltime``, seconds since 1970 (default: now).

    Args:
        log_dir: the run folder, by default runs/<time>_<host><comment>. comment: appended to this default name.
        purge_step: make TensorBoard discard an earlier, interrupted run's events from this step on.
        max_queue: the maximum number of pending events. flush_secs: the maximum number of seconds between writes.
        filename_suffix: appended to file names.

    Raises ImportError if the ``tensorboard`` package is not installed."""

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        run = f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}"
        self.log_dir = os.fspath(log_dir or os.path.join("runs", run))
        self._options = (max_queue, flush_secs, filename_suffix)
        self._files: dict[str, Any] = {}  # files by folder
        self._file(self.log_dir)
        if purge_step is not None:
            self._write(purge_step, None, file_version="brain.Event:2")
            self._write(purge_step, None, session_log={"status": "START"})

    def get_logdir(self) -> str:
        """The run folder."""
        return self.log_dir

    def _file(self, folder: str) -> Any:
        """The open file in a folder, or a new file after ``close``."""
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        if folder not in self._files:
            self._files[folder] = EventFileWriter(folder, *self._options)
        return self._files[folder]

    def _write(self, step: Any, walltime: Time, folder: str | None = None, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        fields |= {} if step is None else {"step": int(step)}
        event = Event(wall_time=time.time() if walltime is None else walltime, **fields)
        self._file(folder or self.log_dir).add_event(event)

    def _add(self, step: Any, walltime: Time, **entry: Any) -> None:
        self._write(step, walltime, summary={"value": [entry]})

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Time = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number, which may be a float, or a tensor or array with one element. ``tag`` names the chart;
        "loss/train" and "loss/valid" appear side by side. ``new_style`` and ``double_precision`` are ignored, as events
        are in TensorFlow 1's format, with float32 numbers."""
        self._add(global_step, walltime, tag=tag, simple_value=_number(tag, scalar_value))

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: Time = None
    ) -> None:
        """Write several named numbers to one chart. Each name gets a folder inside the run folder."""
        for name, value in tag_scalar_dict.items():
            entry = {"tag": main_tag, "simple_value": _number(main_tag, value)}
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{name}"
            self._write(global_step, walltime, folder, summary={"value": [entry]})

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Time = None,
        max_bins: int | None = None,
    ) -> None:
        """Write a histogram of a tensor. Raises ValueError if it is empty. ``bins`` is as in ``numpy.histogram``. For
        "tensorflow", each edge is 10% larger than the last. Bins are merged if there are more than ``max_bins``."""
        values = host(values).reshape(-1).astype(np.float64)
        if not values.size:
            raise ValueError("The input has no element.")
        if isinstance(bins, str) and bins == "tensorflow":  # edges: 0, and on both sides 1e-12 to 1e20
            bins = np.multiply.accumulate([1e-12, *[1.1] * 773])
            bins = np.concatenate([-bins[::-1], [0], bins])
        counts, edges = np.histogram(values, bins)
        if max_bins is not None and len(counts) > max_bins:
            step = -(-len(counts) // max_bins)
            counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
            edges = np.append(edges[:-1:step], edges[-1])
        filled = np.flatnonzero(counts)
        if not filled.size:
            raise ValueError("no values fall into the histogram's bins")
        first, last = filled[0], filled[-1]
        buckets = [0, *counts[first : last + 1].tolist()]  # starts with an empty bin, as a limit is a bin's right edge
        histo = {"min": values.min(), "max": values.max(), "num": len(values), "sum": values.sum()}
        histo |= {"sum_squares": values.dot(values), "bucket": buckets}
        histo |= {"bucket_limit": edges[first : last + 2].tolist()}
        self._add(global_step, walltime, tag=tag, histo=histo)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Time = None, dataformats: str = "CHW"
    ) -> None:
        """Write an image of uint8 or of floats from 0 to 1. ``dataformats`` names the axes ("CHW", "HWC", "HW")."""
        self._add_pixels(tag, [_as_hwc(host(img_tensor), dataformats)], global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Time = None, dataformats: str = "NCHW"
    ) -> None:
        """Write equally sized images along axis N, shown eight per row."""
        images, axes = np.moveaxis(host(img_tensor), dataformats.upper().index("N"), 0), dataformats.upper()
        self._add_pixels(tag, [_as_hwc(each, axes.replace("N", "")) for each in images], global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: Time = None
    ) -> None:
        """Write one or more matplotlib figures, and close them if ``close`` is True."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        images = []
        for each in figure if isinstance(figure, Sequence) else [figure]:
            canvas: Any = FigureCanvasAgg(each)
            canvas.draw()
            images.append(np.array(canvas.buffer_rgba()))
            if close:
                pyplot.close(each)
        self._add_pixels(tag, images, global_step, walltime)

    def _add_pixels(self, tag: str, images: list[Ndarray], step: Any, walltime: Time) -> None:
        """Write equally sized images, eight per row, as a PNG. This uses Pillow, which TensorBoard requires anyway."""
        from PIL import Image

        columns = min(len(images), 8)
        images = [*images, *[np.zeros_like(images[0])] * (-len(images) % columns)]
        rows = [np.hstack(images[i : i + columns]) for i in range(0, len(images), columns)]
        pixels, file = np.vstack(rows), io.BytesIO()
        Image.fromarray(pixels).save(file, "png")
        sizes = dict(zip(("height", "width", "colorspace"), pixels.shape, strict=True))
        self._add(step, walltime, tag=tag, image={**sizes, "encoded_image_string": file.getvalue()})

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Time = None) -> None:
        """Write text, shown as Markdown."""
        from tensorboard.plugins.text.metadata import create_summary_metadata

        tensor = {"dtype": "DT_STRING", "string_val": [text_string.encode()], "tensor_shape": {"dim": [{"size": 1}]}}
        metadata = create_summary_metadata("", "")
        self._add(global_step, walltime, tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)

    def flush(self) -> None:
        """Write pending events."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Write pending events and close the files. Later events go to new files."""
        while self._files:
            self._files.popitem()[1].close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _refuse(self, name: str, instead: str, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"SummaryWriter.{name} is not supported: {instead}")


for _advice, _names in _INSTEAD.items():
    for _name in _names.split():
        setattr(SummaryWriter, _name, partialmethod(SummaryWriter._refuse, _name, _advice))


def _number(tag: str, value: Any) -> float:
    array = host(value)
    if array.size != 1:
        raise ValueError(f"add_scalar takes one number, but {tag!r} has shape {array.shape}")
    return float(array.reshape(()))


def _as_hwc(array: Ndarray, axes: str) -> Ndarray:
    """An image as uint8 (height, width, channels) with 3 or 4 channels."""
    axes = axes.upper()
    if sorted(axes) not in (["C", "H", "W"], ["H", "W"]) or array.ndim != len(axes):
        raise ValueError(f"an image of shape {array.shape} does not match the axes {axes!r}")
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    if "C" not in axes:
        array, axes = array[..., None], axes + "C"
    array = array.transpose([axes.index(axis) for axis in "HWC"])
    if array.shape[-1] not in (1, 3, 4):
        raise ValueError(f"an image must have 1, 3 or 4 channels, not {array.shape[-1]}")
    return np.repeat(array, 3, -1) if array.shape[-1] == 1 else array
