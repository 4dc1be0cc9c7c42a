"""The settings of a program in sections, with presets and configuration files in TOML: a frozen dataclass, a
``Sections``, of frozen dataclasses, whose fields are made by ``setting`` and its like. Command line, files and
checkpoints are made from these fields.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_args, get_type_hints

from ..schema import content, reason, short

MANY = 1e9
ALMOST_ONE = 0.999999
_MOST_BYTES, _MOST_DOTS = 1 << 18, 100  # of a file, of a line: tomllib takes quadratic time for a.b.c.…
FORMER = {"processes": "ranks"}  # what settings were called in earlier versions' files; "": they are gone
FORMER |= dict.fromkeys(("tensorboard", "coverage_penalty", "subword_model", "normalization", "r_drop_after"), "")
FORMER |= dict.fromkeys(("subword_dropout", "word_dropout", "both_ways", "lowercase"), "")


def setting(default: Any, text: str, choices: tuple[str, ...] = (), limits: tuple[float, float] | None = None) -> Any:
    """A setting with its default, its text for ``--help`` and configuration files, and what it may be."""
    return dataclasses.field(default=default, metadata={"help": text, "choices": choices, "limits": limits})


def count(default: int, text: str, most: float = MANY) -> Any:
    """A setting that is a whole number from 1 on."""
    return setting(default, text, limits=(1, most))


def amount(default: float, text: str) -> Any:
    """A setting that is a number from 0 on."""
    return setting(default, text, limits=(0, MANY))


def chance(default: float, text: str) -> Any:
    """A setting that is a probability below 1."""
    return setting(default, text, limits=(0, ALMOST_ONE))


def other(kind: type, name: str, default: Any) -> Any:
    """A setting of a class with another default, for a subclass."""
    return dataclasses.field(default=default, metadata=kind.__dataclass_fields__[name].metadata)  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class Sections:
    """All settings of a program; its fields are the sections, and the names of settings are unique among them.
    Subclasses have PRESETS, a folder of TOML files, each with every setting; FREE, settings that do not affect the
    result of a training and may change when it resumes; and LATER, sections of which that is true as a whole. Raises
    ValueError: a value out of range; the message names the setting."""

    PRESETS: ClassVar[Path]
    FREE: ClassVar[set[str]]
    LATER: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, (section, kind, field) in self.fields().items():
            value = getattr(getattr(self, section), name)
            choices, limits = field.metadata["choices"], field.metadata["limits"]
            if limits is not None and not limits[0] <= value <= limits[1]:
                raise ValueError(f"{name} is {short(value)}, and should be from {limits[0]:g} to {limits[1]:g}")
            if kind is str and choices and value not in choices:
                raise ValueError(f"{name} is {short(value)}, and should be one of: {', '.join(choices)}")

    @classmethod
    @cache
    def fields(cls) -> dict[str, tuple[str, Any, Any]]:
        """Name -> (section, type, field) of every setting: names are unique, so that options need no prefix."""
        return {
            field.name: (section, get_type_hints(kind)[field.name], field)
            for section, kind in cls.sections().items()
            for field in dataclasses.fields(kind)
        }

    @classmethod
    @cache
    def sections(cls) -> dict[str, Any]:
        """The class of each section."""
        hints = get_type_hints(cls)
        return {part.name: hints[part.name] for part in dataclasses.fields(cls)}

    @classmethod
    def meaning(cls, name: str) -> str:
        """The text of a setting, with its choices."""
        metadata = cls.fields()[name][2].metadata
        return str(metadata["help"]) + (f": {', '.join(metadata['choices'])}" if metadata["choices"] else "")

    def changed(self, values: dict[str, Any]) -> Self:
        """These settings with other values, by name, in any section."""
        parts = {part: getattr(self, part) for part in self.sections()}
        for name, value in values.items():
            section = self.fields()[name][0]
            parts[section] = dataclasses.replace(parts[section], **{name: value})
        return type(self)(**parts)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """By section, in TOML's and JSON's types."""
        return {
            part: {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
            for part, values in dataclasses.asdict(self).items()
        }

    def fixed(self) -> dict[str, Any]:
        """The settings that affect the result of a training: they may not change when it resumes."""
        parts = {part: values for part, values in self.as_dict().items() if part not in self.LATER}
        return {k: v for values in parts.values() for k, v in values.items() if k not in self.FREE}

    @classmethod
    def from_dict(cls, parts: dict[str, dict[str, Any]], where: str = "the configuration") -> Self:
        """Settings from ``as_dict`` or a TOML file; missing ones have their defaults."""
        settings, known = {}, cls.fields()
        for section, values in parts.items():
            if section not in cls.sections() or not isinstance(values, dict):
                there = ", ".join(cls.sections())
                raise ValueError(f"{where}: there is no section [{section[:60]}]; there are {there}")
            for name, value in values.items():
                name = FORMER.get(name, name)
                if not name:
                    continue
                if name not in known or known[name][0] != section:
                    near = difflib.get_close_matches(name[:60], known, 1)
                    hint = f"; do you mean {near[0]!r} in [{known[near[0]][0]}]?" if near else ""
                    raise ValueError(f"{where}: [{section}] has no setting {short(name)}{hint}")
                kind = known[name][1]
                if kind is float and isinstance(value, int) and not isinstance(value, bool):
                    value = float(value)
                is_list = isinstance(value, list) and all(isinstance(v, str) for v in value)
                if not (is_list if get_args(kind) else type(value) is kind):
                    name_of_kind = "list of strings" if get_args(kind) else kind.__name__
                    raise ValueError(f"{where}: {name} is {short(value)}, and should be of type {name_of_kind}")
                settings[name] = tuple(value) if is_list else value
        return cls().changed(settings)

    @classmethod
    def preset_names(cls) -> list[str]:
        """The names of all presets."""
        return sorted(path.stem for path in cls.PRESETS.glob("*.toml"))

    @classmethod
    def preset(cls, name: str) -> Self:
        """The settings of a preset. Raises ValueError: there is none of this name."""
        if name not in cls.preset_names():
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(cls.preset_names())}")
        return cls.read(cls.PRESETS / f"{name}.toml")

    @classmethod
    def read(cls, path: Path) -> Self:
        """The settings of a TOML file."""
        data = content(path, _MOST_BYTES)
        if max(line.count(b".") for line in data.splitlines() or [b""]) > _MOST_DOTS:
            raise ValueError(f"{path} is not TOML of settings: it has a line of more than {_MOST_DOTS} dots")
        try:
            parts = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not TOML: {reason(error)}") from None
        try:
            return cls.from_dict(parts, str(path))
        except ValueError as error:
            raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None

    def as_toml(self, title: str) -> str:
        """The settings as a TOML file, each with its meaning."""
        lines = [f"# {title}"]
        for section, values in self.as_dict().items():
            lines += ["", f"[{section}]"]
            for name, value in values.items():  # TOML writes values as JSON does, but for one control character
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                lines.append(f"{name} = {text} # {self.meaning(name)}")
        return "\n".join(lines) + "\n"
