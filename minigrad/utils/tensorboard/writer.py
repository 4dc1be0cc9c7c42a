"""SummaryWriter: numbers, images and text of a training run, in files that TensorBoard shows.

The package ``tensorboard`` itself writes the files.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partialmethod
from typing import Any

import numpy as np

from ...backend.host import host
from .encoding import Entry, Ndarray, as_hwc, grid, histogram, hparams, png, protocol, rendered, scalar, wav

Time = float | None  # seconds since 1970; None is now

_REFUSED = {
    "add_graph": "minigrad runs a model without tracing it first; add_text('model', str(model)) shows its layers",
    "add_onnx_graph": "minigrad does not read ONNX; add_text('model', str(model)) shows the layers of a model",
    "add_tensor": "save it with minigrad.save, or show its numbers with add_histogram",
    "add_embedding": "write the vectors to a TSV file for projector.tensorflow.org, or a scatter plot with add_figure",
    "add_mesh": "draw it with matplotlib, and use add_figure",
    "add_video": "write frames with add_image, one per step",
    "add_image_with_boxes": "draw the boxes with matplotlib, and use add_figure",
    "add_pr_curve": "draw it with matplotlib, and use add_figure",
    "add_custom_scalars": "begin the tags of one chart with the same word, or use add_scalars",
}


class FileWriter:
    """One event file.

    Args:
        log_dir: the folder; it is created.
        max_queue, flush_secs: the most events that wait to be written, and the most seconds that they wait.
        filename_suffix: appended to the file's name.
    """

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self._log_dir = os.fspath(log_dir)
        self.event_writer = protocol().EventFileWriter(self._log_dir, max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self._log_dir

    def add_event(self, event: Any, step: Any = None, walltime: Time = None) -> None:
        """Write one TensorBoard event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Time = None) -> None:
        """Write one TensorBoard summary, or a dict of its fields."""
        self.add_event(protocol().Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write the events that wait."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write the events that wait, and close the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes what ``tensorboard --logdir runs`` shows.

    Every method takes ``global_step``, the place on the horizontal axis, and ``walltime``, seconds since 1970,
    by default now.

    Args:
        log_dir: the folder of this run; by default runs/<time>_<host><comment>.
        comment: the end of the default folder's name.
        purge_step: TensorBoard discards events of an earlier, interrupted run from this step on.
        max_queue, flush_secs, filename_suffix: as in ``FileWriter``.

    Raises:
        ImportError: the package ``tensorboard`` is not installed.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.all_writers: dict[str, FileWriter] | None = None  # by folder; None when closed
        self.file_writer: FileWriter | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The file of this run, a new one after ``close``."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                for field in ({"file_version": "brain.Event:2"}, {"session_log": {"status": "START"}}):
                    self.file_writer.add_event(protocol().Event(**field), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The folder of this run."""
        return self.log_dir

    def _add(self, entry: Entry, step: Any, walltime: Time) -> None:
        self._get_file_writer().add_summary({"value": [entry]}, step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Time = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number: a float, or a tensor or array of one element.

        Args:
            tag: the chart; "loss/train" and "loss/valid" stand side by side.
            new_style: write TensorFlow 2's kind of event; with ``double_precision`` in float64, else float32.
        """
        self._add(scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: Time = None
    ) -> None:
        """Numbers by name in one chart. Each name has its folder under that of the run."""
        self._get_file_writer()
        writers = self.all_writers or {}
        for name, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{name}"
            if folder not in writers:
                writers[folder] = FileWriter(folder, *self._options)
            writers[folder].add_summary({"value": [scalar(main_tag, value)]}, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Time = None,
        max_bins: int | None = None,
    ) -> None:
        """The distribution of a tensor's numbers.

        Args:
            values: any shape; ValueError if it is empty.
            bins: one of ``numpy.histogram``'s, or "tensorflow": each edge is a tenth larger than the last.
            max_bins: join neighbouring bins until there are no more than this.
        """
        histo = histogram(host(values).reshape(-1).astype(np.float64), bins, max_bins)
        self._add({"tag": tag, "histo": histo}, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Time = None, dataformats: str = "CHW"
    ) -> None:
        """An image: uint8, or floats from 0 to 1; ``dataformats`` names its axes ("CHW", "HWC", "HW")."""
        self._add_pixels(tag, as_hwc(host(img_tensor), dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: Time = None, dataformats: str = "NCHW"
    ) -> None:
        """Images of one size, eight in a row; N among the axes counts them."""
        array, axes = host(img_tensor), dataformats.upper()
        each = [as_hwc(part, axes.replace("N", "")) for part in np.moveaxis(array, axes.index("N"), 0)]
        self._add_pixels(tag, grid(each), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: Time = None
    ) -> None:
        """One or several matplotlib figures; ``close`` frees them."""
        figures = figure if isinstance(figure, Sequence) else [figure]
        self._add_pixels(tag, grid([rendered(each, close) for each in figures]), global_step, walltime)

    def _add_pixels(self, tag: str, pixels: Ndarray, step: Any, walltime: Time) -> None:
        sizes = dict(zip(("height", "width", "colorspace"), pixels.shape, strict=True))
        self._add({"tag": tag, "image": {**sizes, "encoded_image_string": png(pixels)}}, step, walltime)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, walltime: Time = None
    ) -> None:
        """Sound of one channel: floats from -1 to 1, (samples,) or (1, samples)."""
        sound = host(snd_tensor).reshape(-1)
        audio: Entry = {"sample_rate": sample_rate, "num_channels": 1, "length_frames": len(sound)}
        audio |= {"encoded_audio_string": wav(sound, sample_rate), "content_type": "audio/wav"}
        self._add({"tag": tag, "audio": audio}, global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Time = None) -> None:
        """Text, shown as Markdown."""
        tensor = {"dtype": "DT_STRING", "string_val": [text_string.encode()], "tensor_shape": {"dim": [{"size": 1}]}}
        metadata = protocol().texts.create_summary_metadata("", "")
        self._add({"tag": f"{tag}/text_summary", "metadata": metadata, "tensor": tensor}, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """One row of TensorBoard's table of hyperparameters, in a folder of its own under that of the run.

        Args:
            hparam_dict: numbers, bools and texts (else TypeError) by name; None leaves a name out.
            metric_dict: numbers by name, at ``global_step``.
            hparam_domain_discrete: the possible values of hyperparameters by name.
            run_name: the folder; by default the time.
        """
        rows = hparams(hparam_dict, metric_dict, hparam_domain_discrete or {})
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as row:
            for entry in rows:
                row._add(entry, None, None)
            for name, metric in metric_dict.items():
                row.add_scalar(name, metric, global_step)

    def flush(self) -> None:
        """Write the events that wait."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write the events that wait, and close the files. Later events go into a new one."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer, self.all_writers = None, None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _refuse(self, _name: str, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"SummaryWriter.{_name} is not provided: {_REFUSED[_name]}")


for _method in _REFUSED:
    setattr(SummaryWriter, _method, partialmethod(SummaryWriter._refuse, _method))
