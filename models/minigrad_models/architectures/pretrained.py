"""Models that read and write their weights in the folder layout of Hugging Face's transformers library.

config.json          the architecture and its sizes
model.safetensors    the weights, or pytorch_model.bin (PyTorch's archive), or several such files with an index
tokenizer.json       or vocab.json and merges.txt, or vocab.txt: see ``minigrad_models.text.pretrained``

Each model uses its own weight names. A table of ``Rule`` maps them to the names in the file.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_type_hints

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.functions.random import undrawn
from minigrad.nn.quantized import quantize_dynamic
from minigrad.serialization.source import forget, replaced

from ..schema import check, check_size, content, short
from ..text.pretrained import read_tokenizer, write_tokenizer
from .layers import ACTIVATIONS

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FILES = (WEIGHTS, f"{WEIGHTS}.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
PUBLISHED_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}
IS_MAPPED = os.name == "posix"  # weights stay in the file; elsewhere, a mapped file could not be replaced
_MOST_BYTES = 1 << 24  # of config.json
MOST_NAMED = 5  # the most weights to name in a message
Weights = dict[str, Tensor]
C = TypeVar("C")
Model = TypeVar("Model", bound="Pretrained")


@dataclass(frozen=True)
class Rule:
    """The names of a weight, or of a layer's weight and bias, in the file and the model."""

    theirs: str  # in the file; "{}" is the layer number
    ours: str | tuple[str, ...]  # in the model; several if the file joins them along the output axis
    suffixes: tuple[str, ...] = (".weight", ".bias")  # of both names
    inputs_first: bool = False  # the file's matrices are (in, out), like GPT-2's Conv1D; ours are (out, in)

    def names(self, layers: int) -> Iterable[tuple[str, tuple[str, ...]]]:
        """Each name in the file, with the model's names for it."""
        ours = (self.ours,) if isinstance(self.ours, str) else self.ours
        for i in range(layers if "{}" in self.theirs else 1):
            for suffix in self.suffixes:
                yield self.theirs.format(i) + suffix, tuple(name.format(i) + suffix for name in ours)


def to_ours(weights: Mapping[str, Tensor], rules: Sequence[Rule], layers: int) -> tuple[Weights, list[str]]:
    """Returns a file's weights under the model's names, and the names that match no rule. Raises ValueError if a joined
    weight cannot be split evenly."""
    rest = dict(weights)
    result: Weights = {}
    for rule in rules:
        for theirs, ours in rule.names(layers):
            if theirs not in rest:
                continue
            weight = rest.pop(theirs)
            weight = weight.mT if rule.inputs_first and weight.ndim == 2 else weight
            if weight.ndim == 0 or len(weight) % len(ours):
                raise ValueError(f"{theirs} of shape {tuple(weight.shape)} cannot be split into {len(ours)} parts")
            result.update(zip(ours, weight.chunk(len(ours)), strict=True))
    return result, list(rest)


def to_theirs(weights: Mapping[str, Tensor], rules: Sequence[Rule], layers: int) -> Weights:
    """The weights of a model (or their gradients) under the file's names, without those that match no rule."""
    result = {}
    for rule in rules:
        for theirs, ours in rule.names(layers):
            if not all(name in weights for name in ours):
                continue
            weight = mg.cat([weights[name] for name in ours]) if len(ours) > 1 else weights[ours[0]]
            result[theirs] = (weight.mT if rule.inputs_first and weight.ndim == 2 else weight).contiguous()
    return result


class Pretrained(nn.Module):
    """A model that ``from_pretrained`` reads and ``save_pretrained`` writes."""

    MODEL_TYPE: ClassVar[str]  # the architecture's name in config.json
    ARCHITECTURE: ClassVar[str]  # the class of the transformers library that has the same weights
    HEADS: ClassVar[tuple[str, ...]] = ()  # prefixes of weights that a file may lack; they are initialised randomly
    TABLES: ClassVar[tuple[str, ...]] = ()  # embeddings that ``from_pretrained`` may quantize
    READ: ClassVar[tuple[str, ...]] = ()  # entries that are read but not written, as others have the same content
    config: Any  # the sizes
    tokenizer: Any = None  # the folder's ``tokenizers.Tokenizer``, or None

    @classmethod
    def configured(cls, published: dict[str, Any]) -> Any:
        """The configuration described by a config.json. Raises ValueError if the model does not support it."""
        raise NotImplementedError

    def to_ours(self, weights: Weights) -> tuple[Weights, list[str]]:
        """A file's weights under the model's names, and the unknown names. Raises ValueError if a weight is invalid."""
        raise NotImplementedError

    def to_theirs(self, weights: Mapping[str, Tensor]) -> Weights:
        """The weights of the model, or their gradients, under the file's names."""
        raise NotImplementedError

    @classmethod
    def from_pretrained(
        cls: type[Model], folder: str | os.PathLike[str], weights: str = "float32", **changes: Any
    ) -> Model:
        """Read the model and its tokenizer from a folder with the files listed in this module's docstring. The model is
        in evaluation mode, and code in the files never runs. ``weights`` is the dtype of weights in the largest layers:
        "float32", or for inference "bfloat16" or "int8"; see ``nn.quantized``. ``changes`` replace entries of
        config.json, such as a dropout. Raises FileNotFoundError if the folder or a file is missing, RuntimeError if the
        weights file is damaged, and ValueError if the files are for another architecture, do not match each other, or
        are damaged. Warns if the file lacks this model's head, which is then initialised randomly, or has unused
        weights."""
        if weights not in ("float32", "bfloat16", "int8"):
            raise ValueError(f'weights must be "float32", "bfloat16" or "int8", not {weights!r}')
        path = Path(folder)
        published = {**read_config(path, cls.MODEL_TYPE), **changes}
        file = weights_file(path)
        state = mg.load(file, map_location="cpu", mmap=IS_MAPPED and ".safetensors" in file.name)
        if not isinstance(state, dict) or not all(isinstance(weight, Tensor) for weight in state.values()):
            raise ValueError(f"{file} does not contain a dictionary of named weights")
        try:
            config = cls.configured(published)
            unknown = changes.keys() - {*config.published(), *cls.READ}
            if unknown:
                raise ValueError(f"cannot change {named(sorted(unknown))}: there is no such entry")
            check_memory(config, state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path / CONFIG}: {error}") from None
        tokenizer = read_tokenizer(path)
        if tokenizer is not None and (size := tokenizer.get_vocab_size()) > config.vocabulary:
            sizes = f"the tokenizer in {path} has {size:,} entries, but the vocabulary has {config.vocabulary:,}"
            raise ValueError(f"{sizes}: they belong to different models")
        with undrawn():  # random initialisation takes longer than reading the file
            model = cls(config)
        if model.state_dict().keys() - model.recognised(state, file)[0].keys():  # a head is initialised randomly
            model = cls(config)
        model.fill(state, file)
        model.tokenizer = tokenizer
        if weights != "float32":
            quantize_dynamic(model, {nn.Linear, *cls.TABLES}, getattr(mg, weights), inplace=True)
            forget(next(iter(state.values())).array)
        return model.eval()

    def fill(self, weights: Weights, file: Path) -> None:
        """Load a file's weights. Raises the same errors as ``from_pretrained``, in which case nothing changes."""
        ours, unknown = self.recognised(weights, file)
        there = self.state_dict()
        missing = [name for name in there if name not in ours]
        absent = self.their_names([name for name in missing if not name.startswith(self.HEADS)])
        shapes = [name for name in there if name in ours and ours[name].shape != there[name].shape]
        if absent or shapes:
            faults = [f"lacks {named(absent)}"] if absent else []
            for name in shapes[:MOST_NAMED]:
                (theirs,), shape = self.their_names([name]), tuple(there[name].shape)
                faults.append(f"has {theirs} for {name} as {tuple(ours[name].shape)}, not {shape}")
            raise ValueError(f"{file} does not match the {type(self).__name__} of {CONFIG}: it {'; '.join(faults)}")
        whole = [name for name, weight in ours.items() if not weight.is_floating_point()]
        if whole:
            which = named(self.their_names(whole))
            raise ValueError(f"{file} stores {which} as {ours[whole[0]].dtype}: weights must be floating-point")
        if missing:
            warnings.warn(f"{file} has no head of this kind: {named(missing)} get random values", stacklevel=3)
        if unknown:
            warnings.warn(f"{file} has weights unknown to {type(self).__name__}: {named(unknown)}", stacklevel=3)
        ours = {name: weight.to(there[name].dtype).contiguous() for name, weight in ours.items()}
        self.load_state_dict({**there, **ours}, assign=True)  # without copies: the file stays mapped
        for weight in weights.values():
            forget(weight.array)  # what has been converted is not needed again

    def recognised(self, weights: Weights, file: Path) -> tuple[Weights, list[str]]:
        """Call ``to_ours``, adding the file name to its error message."""
        try:
            return self.to_ours(weights)
        except ValueError as error:
            raise ValueError(f"{file} cannot be used: {error}") from None

    def their_names(self, names: Sequence[str]) -> list[str]:
        """The file's names for some of the model's weights."""
        if not names:
            return []
        there = self.state_dict()
        others = self.to_theirs({name: weight for name, weight in there.items() if name not in names})
        return [name for name in self.to_theirs(there) if name not in others]

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json, model.safetensors and, if there is a tokenizer, tokenizer.json, each atomically. Raises
        OSError if a file cannot be written."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        described = {"model_type": self.MODEL_TYPE, "architectures": [self.ARCHITECTURE], **self.config.published()}
        with replaced(path / CONFIG) as temporary:
            Path(temporary).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
        mg.serialization.save_file(self.to_theirs(self.state_dict()), path / WEIGHTS, {"format": "pt"})
        if self.tokenizer is not None:
            write_tokenizer(self.tokenizer, path)


def read_config(folder: Path, model_type: str) -> dict[str, Any]:
    """The entries of config.json. Raises FileNotFoundError if the folder or the file is missing, and ValueError if the
    file is damaged or for another architecture."""
    path = folder / CONFIG
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: from_pretrained reads local files and downloads nothing")
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {CONFIG}, so it is not a pretrained model folder")
    try:
        config: dict[str, Any] = json.loads(content(path, _MOST_BYTES).decode("utf-8-sig"))
        check_size(config)
        check(config, dict[str, Any], CONFIG)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if (kind := config.get("model_type")) != model_type:
        raise ValueError(f"{path} describes a model of type {short(kind)}, but this class reads {model_type!r}")
    return config


def from_published(
    kind: Callable[..., C], published: dict[str, Any], fields: Mapping[str, str], fixed: Mapping[str, Any]
) -> C:
    """Build a configuration (a dataclass) from the entries of a config.json. Missing entries get their defaults.
    ``fields`` maps the file's names to the dataclass's; ``fixed`` entries must have the given value if present. Raises
    ValueError if an entry has the wrong type, is out of range, or is not supported by the model."""
    for name, value in fixed.items():
        if published.get(name, value) != value:
            raise ValueError(f"it has {name} = {short(published[name])}; this model supports only {value}")
    hints, theirs = get_type_hints(kind), {ours: theirs for theirs, ours in fields.items()}
    arguments = {ours: published.get(theirs) for theirs, ours in fields.items()}
    arguments = {ours: value for ours, value in arguments.items() if value is not None}
    for name, value in arguments.items():
        if name == "activation":
            if not isinstance(value, str) or value not in PUBLISHED_ACTIVATIONS:
                raise ValueError(f"activation must be one of {', '.join(PUBLISHED_ACTIVATIONS)}, not {short(value)}")
            arguments[name] = PUBLISHED_ACTIVATIONS[value]
        else:
            check(value, hints[name], theirs[name])
            arguments[name] = float(value) if isinstance(value, int) and hints[name] is float else value
    return kind(**arguments)


def to_published(config: Any, fields: Mapping[str, str]) -> dict[str, Any]:
    """The entries of a config.json: the reverse of ``from_published``."""
    entries = {theirs: getattr(config, ours) for theirs, ours in fields.items()}
    names = {ours: theirs for theirs, ours in reversed(PUBLISHED_ACTIVATIONS.items())}
    return {name: names[value] if fields[name] == "activation" else value for name, value in entries.items()}


def check_sizes(config: Any, ids: Collection[str] = ()) -> None:
    """Raise ValueError for an invalid transformer configuration: sizes below 1, dropouts that are not probabilities, a
    width not divisible by the number of heads, or ``ids`` (names of entries) that are not in the vocabulary."""
    for name, value in vars(config).items():
        if name in ids:
            if not 0 <= value < config.vocabulary:
                raise ValueError(f"{name} must be a token id, 0 to {config.vocabulary - 1:,}, not {value}")
        elif type(value) is int and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
        if name.endswith("dropout") and value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must be between 0 and 1, not {value}")
    if config.d_model % config.heads:
        raise ValueError(f"d_model ({config.d_model}) must be a multiple of heads ({config.heads})")
    if config.activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {config.activation!r}")


def weights_file(folder: Path) -> Path:
    """The weights file in a folder, or the index of several files. Raises FileNotFoundError if neither exists."""
    for name in FILES:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder} has no weights file: expected {' or '.join(FILES)}")


def check_memory(config: Any, weights: Weights) -> None:
    """Raise ValueError for a configuration that needs far more memory than the weights in the same folder."""
    total = sum(weight.numel() for weight in weights.values())
    if config.layers > len(weights) or config.d_model * max(config.vocabulary, config.positions, config.d_ff) > total:
        sizes = f"{config.layers:,} layers, width {config.d_model:,} and vocabulary {config.vocabulary:,}"
        raise ValueError(f"it describes a model with {sizes}, but the folder has only {total:,} weights")


def named(names: Sequence[str]) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
