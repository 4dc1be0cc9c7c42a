"""Numbers, histograms, images, sounds and hyperparameters in the terms of TensorBoard's files.

Entries are dicts of the fields of TensorBoard's message ``Summary.Value``.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...backend.extras import how_to_install
from ...backend.host import host

Ndarray = np.ndarray[Any, Any]
Entry = dict[str, Any]


@cache
def protocol() -> SimpleNamespace:
    """The parts of the package ``tensorboard`` that writing needs. Raises ImportError if it is not installed."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.plugins.hparams import metadata as hparams
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
        from tensorboard.plugins.scalar import metadata as scalars
        from tensorboard.plugins.text import metadata as texts
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        command = how_to_install("tensorboard", "tensorboard")
        raise ImportError(f"SummaryWriter needs tensorboard ({error}): {command}") from error
    modules = {"hparams": hparams, "scalars": scalars, "texts": texts}
    return SimpleNamespace(Event=Event, EventFileWriter=EventFileWriter, HParamsPluginData=HParamsPluginData, **modules)


def scalar(tag: str, value: Any, new_style: bool = False, double: bool = False) -> Entry:
    """One number under a tag. Raises ValueError if there are several."""
    array = host(value)
    if array.size != 1:
        raise ValueError(f"add_scalar takes one number; {tag!r} has shape {array.shape}")
    number = float(array.reshape(()))
    if not new_style:
        return {"tag": tag, "simple_value": number}
    tensor = {"dtype": "DT_DOUBLE", "double_val": [number]} if double else {"dtype": "DT_FLOAT", "float_val": [number]}
    return {"tag": tag, "tensor": tensor, "metadata": protocol().scalars.create_summary_metadata("", "")}


@cache
def _tenth_edges() -> Ndarray:
    """The edges of TensorFlow's histograms: 0, and on both sides 1e-12 to 1e20, each a tenth larger."""
    edge, edges = 1e-12, [0.0]
    while edge < 1e20:
        edges = [-edge, *edges, edge]
        edge *= 1.1
    return np.array(edges)


def histogram(values: Ndarray, bins: Any, max_bins: int | None) -> dict[str, Any]:
    """Counts per bin, from the first filled bin to the last."""
    if not values.size:
        raise ValueError("The input has no element.")
    named = isinstance(bins, str) and bins == "tensorflow"
    counts, edges = np.histogram(values, _tenth_edges() if named else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("no number lies within the bins of the histogram")
    first, last = filled[0], filled[-1]
    return {
        "min": values.min(),
        "max": values.max(),
        "num": len(values),
        "sum": values.sum(),
        "sum_squares": values.dot(values),
        "bucket": [0, *counts[first : last + 1].tolist()],  # an empty bin first: a limit is a bin's right edge
        "bucket_limit": edges[first : last + 2].tolist(),
    }


def as_hwc(array: Ndarray, axes: str) -> Ndarray:
    """An image as uint8 (height, width, channels) of 1, 3 or 4 channels."""
    axes = axes.upper()
    if sorted(axes) not in (["C", "H", "W"], ["H", "W"]) or array.ndim != len(axes):
        raise ValueError(f"an image of shape {array.shape} cannot have the axes {axes!r}")
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    if "C" not in axes:
        return np.repeat(array.transpose([axes.index(axis) for axis in "HW"])[..., None], 3, -1)
    array = array.transpose([axes.index(axis) for axis in "HWC"])
    if array.shape[-1] not in (1, 3, 4):
        raise ValueError(f"an image has 1, 3 or 4 channels, not {array.shape[-1]}")
    return np.repeat(array, 3, -1) if array.shape[-1] == 1 else array


def grid(images: list[Ndarray]) -> Ndarray:
    """Images of one size, eight in a row."""
    columns = min(len(images), 8)
    missing = [np.zeros_like(images[0])] * (-len(images) % columns)
    images = [*images, *missing]
    return np.vstack([np.hstack(images[i : i + columns]) for i in range(0, len(images), columns)])


def rendered(figure: Any, close: bool) -> Ndarray:
    """The pixels of a matplotlib figure, (height, width, 4)."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.array(canvas.buffer_rgba())
    if close:
        pyplot.close(figure)
    return pixels


def png(pixels: Ndarray) -> bytes:
    """A PNG file, by Pillow, which TensorBoard itself needs."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def wav(sound: Ndarray, rate: int) -> bytes:
    """A WAV file of 16-bit samples."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((sound.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2").tobytes())
    return file.getvalue()


def hparams(values: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Any]) -> list[Entry]:
    """The three entries of a row: the names of the table, the values of the run, and its end."""
    p = protocol()
    table, run = p.HParamsPluginData(), p.HParamsPluginData()
    end = p.HParamsPluginData(session_end_info={"status": "STATUS_SUCCESS"})
    for name, value in values.items():
        if value is not None:
            kind, plain = _hparam(name, value)
            setattr(run.session_start_info.hparams[name], f"{kind}_value", plain)
            info = table.experiment.hparam_infos.add(name=name, type=_TYPES[kind])
            info.domain_discrete.extend(domains.get(name, ()))
    for name in metrics:
        table.experiment.metric_infos.add(name={"tag": name})
    tags = (p.hparams.EXPERIMENT_TAG, p.hparams.SESSION_START_INFO_TAG, p.hparams.SESSION_END_INFO_TAG)
    rows = zip(tags, (table, run, end), strict=True)
    return [{"tag": tag, "metadata": p.hparams.create_summary_metadata(data)} for tag, data in rows]


_TYPES = {"number": "DATA_TYPE_FLOAT64", "bool": "DATA_TYPE_BOOL", "string": "DATA_TYPE_STRING"}


def _hparam(name: str, value: Any) -> tuple[str, Any]:
    """The kind of a hyperparameter, and its value."""
    if isinstance(value, (bool, np.bool_)):
        return "bool", bool(value)
    if isinstance(value, str):
        return "string", value
    array = host(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise TypeError(f"hyperparameter {name!r} should be a number, a bool or a text, not {value!r}")
    return "number", float(array.reshape(()))
