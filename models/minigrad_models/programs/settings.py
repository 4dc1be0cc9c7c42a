"""The settings of a program, in sections, with presets and configuration files in TOML. ``Sections`` is a frozen
dataclass of frozen dataclasses, whose fields are declared by ``setting``, ``count`` and so on. The command line, files
and checkpoints are derived from these fields. Every program has a section with the ``Updates`` of a training run.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_args, get_type_hints

from minigrad import distributed, nn, optim
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer

from ..schema import content, reason, short
from ..training import Settings as LoopSettings, schedules

MANY = 1e9
ALMOST_ONE = 0.999999
_MOST_BYTES, _MOST_DOTS = 1 << 18, 100  # of a file, and of a line, as tomllib takes quadratic time for a.b.c.…
# The settings in ``Updates`` that do not affect the result of training.
FREE = {"ranks", "device", "minutes", "save_seconds", "log_every"}


def setting(default: Any, text: str, choices: tuple[str, ...] = (), limits: tuple[float, float] | None = None) -> Any:
    """A setting with its default, its text for ``--help`` and configuration files, and its allowed values."""
    return dataclasses.field(default=default, metadata={"help": text, "choices": choices, "limits": limits})


def count(default: int, text: str, most: float = MANY) -> Any:
    """A setting that is a positive integer."""
    return setting(default, text, limits=(1, most))


def amount(default: float, text: str) -> Any:
    """A setting that is a non-negative number."""
    return setting(default, text, limits=(0, MANY))


def chance(default: float, text: str) -> Any:
    """A setting that is a probability below 1."""
    return setting(default, text, limits=(0, ALMOST_ONE))


def other(kind: type, name: str, default: Any) -> Any:
    """A setting of ``kind``, with a different default for a subclass."""
    return dataclasses.field(default=default, metadata=kind.__dataclass_fields__[name].metadata)  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class Sections:
    """All settings of a program. Each field is a section, and setting names are unique across sections. Subclasses
    define PRESETS, a folder of TOML files that have every setting; FREE, the settings that do not affect the result of
    training and may change when a run resumes; and LATER, whole sections of such settings. Raises ValueError if a value
    is out of range; the message names the setting."""

    PRESETS: ClassVar[Path]
    FREE: ClassVar[set[str]]
    LATER: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, (section, kind, field) in self.fields().items():
            value = getattr(getattr(self, section), name)
            choices, limits = field.metadata["choices"], field.metadata["limits"]
            if get_args(kind) and isinstance(value, str):
                raise ValueError(f"{name} is {short(value)}, but should be of type list of strings")
            if limits is not None and not limits[0] <= value <= limits[1]:
                raise ValueError(f"{name} is {short(value)}, but should be from {limits[0]:g} to {limits[1]:g}")
            if kind is str and choices and value not in choices:
                raise ValueError(f"{name} is {short(value)}, but should be one of: {', '.join(choices)}")

    @classmethod
    @cache
    def fields(cls) -> dict[str, tuple[str, Any, Any]]:
        """Maps each setting's name to (section, type, field). Names are unique, so options do not need a prefix."""
        return {
            field.name: (section, get_type_hints(kind)[field.name], field)
            for section, kind in cls.sections().items()
            for field in dataclasses.fields(kind)
        }

    @classmethod
    @cache
    def sections(cls) -> dict[str, Any]:
        hints = get_type_hints(cls)
        return {part.name: hints[part.name] for part in dataclasses.fields(cls)}

    @classmethod
    def meaning(cls, name: str) -> str:
        metadata = cls.fields()[name][2].metadata
        return str(metadata["help"]) + (f": {', '.join(metadata['choices'])}" if metadata["choices"] else "")

    def changed(self, values: dict[str, Any]) -> Self:
        """A copy of these settings with some values changed, by name, in any section."""
        parts = {part: getattr(self, part) for part in self.sections()}
        for name, value in values.items():
            section, value = self.fields()[name][0], tuple(value) if isinstance(value, list) else value
            parts[section] = dataclasses.replace(parts[section], **{name: value})
        return type(self)(**parts)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """The settings by section, in types that TOML and JSON support."""
        return {
            part: {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
            for part, values in dataclasses.asdict(self).items()
        }

    def fixed(self) -> dict[str, Any]:
        """The settings that affect the result of training, and must not change when it resumes."""
        later = {name for name, (section, _, _) in self.fields().items() if section in self.LATER}
        return self.without(self.FREE | later)

    def without(self, names: set[str]) -> dict[str, Any]:
        """The settings by name, except ``names``, in types that TOML and JSON support."""
        return {k: v for values in self.as_dict().values() for k, v in values.items() if k not in names}

    @classmethod
    def from_dict(cls, parts: dict[str, dict[str, Any]], where: str = "the configuration") -> Self:
        """Settings from ``as_dict`` or a TOML file. Missing settings get their defaults."""
        settings, fields = {}, cls.fields()
        for section, values in parts.items():
            if section not in cls.sections() or not isinstance(values, dict):
                there = ", ".join(cls.sections())
                raise ValueError(f"{where}: unknown section [{section[:60]}]; choose from {there}")
            for name, value in values.items():
                if name not in fields or fields[name][0] != section:
                    near = difflib.get_close_matches(name[:60], fields, 1)
                    hint = f"; do you mean {near[0]!r} in [{fields[near[0]][0]}]?" if near else ""
                    raise ValueError(f"{where}: [{section}] has no setting {short(name)}{hint}")
                kind = fields[name][1]
                if kind is float and isinstance(value, int) and not isinstance(value, bool):
                    value = float(value)
                is_list = isinstance(value, list) and all(isinstance(v, str) for v in value)
                if not (is_list if get_args(kind) else type(value) is kind):
                    name_of_kind = "list of strings" if get_args(kind) else kind.__name__
                    raise ValueError(f"{where}: {name} is {short(value)}, but should be of type {name_of_kind}")
                settings[name] = value
        return cls().changed(settings)

    @classmethod
    def preset_names(cls) -> list[str]:
        return sorted(path.stem for path in cls.PRESETS.glob("*.toml"))

    @classmethod
    def preset(cls, name: str) -> Self:
        """The settings of a preset. Raises ValueError if the preset does not exist."""
        if name not in cls.preset_names():
            raise ValueError(f"unknown preset {name!r}; choose from {', '.join(cls.preset_names())}")
        return cls.read(cls.PRESETS / f"{name}.toml")

    @classmethod
    def read(cls, path: Path) -> Self:
        data = content(path, _MOST_BYTES)
        if max(line.count(b".") for line in data.splitlines() or [b""]) > _MOST_DOTS:
            raise ValueError(f"{path} is not a settings file: a line has more than {_MOST_DOTS} dots")
        try:
            parts = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not TOML: {reason(error)}") from None
        try:
            return cls.from_dict(parts, str(path))
        except ValueError as error:
            raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None

    def as_toml(self, title: str) -> str:
        lines = [f"# {title}"]
        for section, values in self.as_dict().items():
            lines += ["", f"[{section}]"]
            for name, value in values.items():  # TOML writes values as JSON does, except for one control character
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                lines.append(f"{name} = {text} # {self.meaning(name)}")
        return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True)
class Updates:
    """Settings for the updates, their optimiser, and snapshots. Each program adds its own settings to this section."""

    steps: int = count(8000, "updates")
    minutes: float = amount(0.0, "time limit in minutes; 0: no limit")
    accumulate: int = count(1, "batches whose gradients form one update", 10_000)
    ranks: int = count(
        1, "processes that share these batches, each with its share of the cores; at most accumulate", 1024
    )
    optimizer: str = setting("adamw", "Adam, or Muon for the layers' matrices", ("adamw", "muon"))
    learning_rate: float = amount(0.005, "peak learning rate")
    warm_up: int = count(2000, "updates during which the learning rate rises")
    schedule: str = setting(
        "inverse_sqrt", "how the learning rate falls", ("inverse_sqrt", "inverse_sqrt_with_decay", "linear", "cosine")
    )
    decay_fraction: float = setting(
        0.4, "fraction of all updates during which inverse_sqrt_with_decay falls to zero", limits=(0, 1)
    )
    weight_decay: float = amount(0.0, "decoupled weight decay (AdamW)")
    clip: float = amount(1.0, "maximum gradient norm; 0: no limit")
    evaluate_every: int = count(500, "updates between evaluations")
    patience: int = amount(0, "evaluations without improvement before the training stops; 0: no limit")
    snapshot_every: int = count(125, "updates between snapshots of the weights")
    average: int = amount(10, "number of latest snapshots to average; 0: only the last weights")
    ema: float = chance(0.0, "decay of an exponential moving average, used instead of snapshots; 0: none")
    save_seconds: float = amount(60.0, "seconds between checkpoints; 0: only with snapshots and evaluations")
    log_every: int = count(20, "updates between log lines")
    seed: int = setting(0, "the same seed gives exactly the same model", limits=(0, 2**63 - 1))
    device: str = setting("cpu", '"cpu", "cuda" or "cuda:1"')

    def rate(self, final: float = 0.0) -> Callable[[int], float]:
        """A function from an update to its learning rate, as a fraction of the peak. A cosine ends at ``final``."""
        if self.schedule == "inverse_sqrt":
            return schedules.inverse_sqrt(self.warm_up)
        if self.warm_up >= self.steps:
            raise ValueError(f"--warm-up ({self.warm_up:,}) must be less than --steps ({self.steps:,})")
        if self.schedule == "inverse_sqrt_with_decay":
            return schedules.inverse_sqrt_with_decay(self.warm_up, self.steps, self.decay_fraction)
        if self.schedule == "cosine":
            return schedules.cosine(self.warm_up, self.steps, final)
        return schedules.linear(self.warm_up, self.steps)

    def make_optimizer(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),  # and eps: Vaswani et al. 2017, section 5.3
        eps: float = 1e-9,
        decay_vectors: bool = True,
    ) -> optim.Optimizer:
        """AdamW for all parameters, or Muon for the layers' matrices and AdamW for embeddings and vectors. Without
        ``decay_vectors``, biases and the weights of norms have no weight decay. Several ranks share Muon's work."""
        options: dict[str, Any] = {"lr": self.learning_rate, "betas": betas, "eps": eps}
        options["weight_decay"] = self.weight_decay
        tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
        muon, rest = list[Any](), list[Any]()
        for p in model.parameters():
            (muon if self.optimizer == "muon" and p.ndim == 2 and id(p) not in tables else rest).append(p)
        groups: list[dict[str, Any]] = [{"params": rest}]
        if not decay_vectors:
            vectors = {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0}
            groups = [{"params": [p for p in rest if p.ndim >= 2]}, vectors]
        if self.optimizer == "adamw":
            return optim.AdamW(groups, **options)
        groups = [{"params": muon, "muon": True}, *groups]
        if distributed.is_initialized() and distributed.get_world_size() > 1:
            return ZeroRedundancyOptimizer(groups, optim.MuonWithAdamW, **options)
        return optim.MuonWithAdamW(groups, **options)

    def loop_settings(self, evaluated: bool, **more: Any) -> LoopSettings:
        """The settings of the training loop, with None for TOML's 0. ``more`` has settings that this class lacks."""
        same = ("steps", "accumulate", "evaluate_every", "snapshot_every", "log_every", "seed")
        values = {name: getattr(self, name) for name in same}
        values |= {name: getattr(self, name) or None for name in ("minutes", "clip", "save_seconds")}
        patience = (self.patience or None) if evaluated else None
        return LoopSettings(
            **values, patience=patience, keep_snapshots=self.average, ema_decay=self.ema or None, **more
        )


@dataclasses.dataclass(frozen=True)
class LanguageUpdates(Updates):
    """Settings for the updates of a causal language model."""

    steps: int = other(Updates, "steps", 2000)
    learning_rate: float = other(Updates, "learning_rate", 1e-3)
    warm_up: int = other(Updates, "warm_up", 100)
    schedule: str = other(Updates, "schedule", "cosine")
    weight_decay: float = other(Updates, "weight_decay", 0.1)
    evaluate_every: int = other(Updates, "evaluate_every", 250)
    snapshot_every: int = other(Updates, "snapshot_every", 250)
    average: int = other(Updates, "average", 0)
    final_rate: float = amount(1e-4, "final learning rate of the cosine schedule")
    beta2: float = chance(0.99, "decay of Adam's mean of squared gradients")
    batch: int = count(12, "windows per batch")
    window: int = amount(0, "tokens per window; 0: as many as the model sees")

    def check(self, d_model: int, heads: int, context: int) -> None:
        """Raise ValueError if a model cannot have these sizes, or cannot be trained with these settings."""
        if d_model % heads:
            raise ValueError(f"d_model ({d_model}) must be a multiple of heads ({heads})")
        if self.window > context:
            raise ValueError(f"window ({self.window}) must not exceed context ({context})")
        if self.final_rate > self.learning_rate:
            raise ValueError(f"final_rate ({self.final_rate:g}) must not exceed learning_rate ({self.learning_rate:g})")

    def rate(self, final: float | None = None) -> Callable[[int], float]:
        """The rate as in ``Updates``, except that a cosine ends at ``final_rate``."""
        return super().rate(self.final_rate / self.learning_rate if self.learning_rate else 0.0)

    def make_optimizer(self, model: nn.Module, *options: Any, **more: Any) -> optim.Optimizer:
        """The optimiser as in ``Updates``, without weight decay for vectors."""
        return super().make_optimizer(model, (0.9, self.beta2), 1e-8, decay_vectors=False)
