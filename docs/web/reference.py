"""The reference: the signature, docstring, gradient rules and location of every public name.

The names come from the running library, since many are created on import. Each module has a page, and each name has an
anchor (#minigrad.relu). Names that two modules share are on the first module's page.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any, NamedTuple

from . import docstrings, public, sources
from .documents import ROOT

TENSOR = "minigrad.Tensor"
MODULES = {  # section: pages; each page covers a module and some of its submodules
    "Tensors": ["minigrad", TENSOR, "minigrad.linalg", "minigrad.fft", "minigrad.special", "minigrad.masked"],
    "Gradients": ["minigrad.autograd", "minigrad.func", "minigrad.ops"],
    "Layers": ["minigrad.nn", "minigrad.nn.functional", "minigrad.nn.init", "minigrad.nn.utils"],
    "Training": ["minigrad.optim", "minigrad.optim.lr_scheduler", "minigrad.utils.data", "minigrad_models.training"],
    "Models": [f"minigrad_models.{name}" for name in ("translation", "gpt", "bert", "music", "viz")],
    "Parts of models": [f"minigrad_models.{name}" for name in ("architectures", "generation", "text")],
    "Mathematics": ["minigrad.distributions"],
    "Pictures and times": ["minigrad.viz", "minigrad.profiler"],
    "Files, machines, PyTorch": ["minigrad.serialization", "minigrad.utils", "minigrad.cuda", "minigrad.backend"],
}
MODULES["Files, machines, PyTorch"] += ["minigrad.compat"]
BELOW = {
    "minigrad.autograd": ("functional", "graph", "function", "observer"),
    "minigrad.backend": ("extras",),
    "minigrad.compat": ("amp", "backends", "hub", "library", "overrides", "profiler", "testing", "types"),
    "minigrad.distributions": ("constraints", "constraint_registry", "transforms", "utils"),
    "minigrad_models.architectures": ("layers", "pretrained"),
    "minigrad_models.bert": ("bert",),
    "minigrad_models.generation": ("beam_search", "continuation", "generate"),
    "minigrad_models.gpt": ("gpt2", "transformer_xl"),
    "minigrad_models.music": ("music_transformer",),
    "minigrad_models.text": ("pretrained", "scores"),
    "minigrad_models.translation": ("conv_seq2seq", "encoder_decoder", "english_italian", "seq2seq", "transformer"),
    "minigrad_models.viz": ("embedding", "logit_lens", "piano_roll", "positional_encoding", "training"),
    "minigrad.nn": ("attention", "parallel", "quantized"),
    "minigrad.nn.utils": ("parametrizations", "parametrize", "rnn"),
    "minigrad.ops": ("op",),
    "minigrad.optim": ("swa_utils",),
    "minigrad.profiler": ("summary",),
    "minigrad.utils": ("checkpoint", "tensorboard", "bar"),
    "minigrad.viz": (*("attention", "attention.attention_view", "graph", "graph.graph_view", "playback", "trace"),),
}
BELOW["minigrad_models.viz"] += ("training.training_view",)
WIDTH = 88
OVERVIEW = """\
---
title: Reference
---

# Reference

Every public name: its signature, its meaning, its gradient rules, and the place of its definition. Names and
arguments are PyTorch's wherever PyTorch has an equivalent: [PyTorch's names](pytorch.md) lists the differences.
[All ops](ops.md) has the primitives, with their rules, on one page.
"""
SPELLINGS = """\
## Other spellings

For PyTorch programs, [`minigrad.compat`](../reference/minigrad.compat.md) supplies these as well:

{names}
{{: .spellings }}
"""


class Entry(NamedTuple):
    """A public name."""

    page: str  # the module on whose page it appears
    module: str  # the module in which it is public
    name: str  # its name in that module
    value: Any  # its value
    group: str  # the module of its family, under whose heading it appears

    @property
    def anchor(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def is_defined(self) -> bool:
        """Whether it is a function or a class, which is documented in one place."""
        return callable(self.value) or isinstance(self.value, property)


def modules() -> list[str]:
    """The modules with a page."""
    return [module for section in MODULES.values() for module in section]


@cache
def entries(page: str) -> tuple[Entry, ...]:
    """All public names of a page."""
    if page == TENSOR:
        return tuple(_methods())
    below = [f"{page}.{name}" for name in BELOW.get(page, ())]
    by_anchor: dict[str, Entry] = {}
    ids: set[int] = set()
    for module in [page, *below]:
        for name, value in public.names(module).items():
            if module == page or id(value) not in ids:
                entry = Entry(page, module, name, value, _group(page, module, name, value))
                by_anchor[entry.anchor] = entry
                ids.add(id(value))
    return tuple(by_anchor.values())


def _methods() -> Iterator[Entry]:
    """The methods and properties of Tensor."""
    tensor: Any = import_module("minigrad").Tensor
    families = _families()  # which also loads the methods that ``minigrad.compat`` defines
    for name in dir(tensor):
        value = inspect.getattr_static(tensor, name)
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield Entry(TENSOR, TENSOR, name, value, families.get(name.rstrip("_"), "minigrad.tensor"))


@cache
def _families() -> dict[str, str]:
    """The module that defines each function and method, by name."""
    define: Any = import_module("minigrad.functions.define")
    modules: list[Any] = [import_module(name) for name in ("minigrad.compat.functions", "minigrad.functions.names")]
    families = [family for module in modules for family in module._families]
    return {name: family.__name__ for family in families for name, _, _ in define.public(family)}


def _group(page: str, module: str, name: str, value: Any) -> str:
    if page == "minigrad":
        return _families().get(name) or (value.__module__ if inspect.isroutine(value) else "minigrad.backend.dtype")
    own = str(getattr(value, "__module__", ""))
    return module if module != page or not own.startswith(f"{page}.") else own


@cache
def canonical() -> dict[int, Entry]:
    """The entries that document functions and classes, by identity; for an alias, the original name's entry."""
    entries_by_id: dict[int, Entry] = {}
    for entry in (entry for page in modules() for entry in entries(page) if entry.is_defined):
        first = entries_by_id.setdefault(id(entry.value), entry)
        own = getattr(entry.value, "__name__", "")
        if first.page == entry.page and first.name != own == entry.name:
            entries_by_id[id(entry.value)] = entry
    return entries_by_id


def navigation() -> list[Any]:
    """The pages by section, in MkDocs's format."""
    sections = [{section: [{page: f"reference/{page}.md"} for page in pages]} for section, pages in MODULES.items()]
    return ["reference/index.md", *sections]


def overview() -> str:
    """The first page, with the purpose of each module. Its links are relative to the repository's docs folder."""
    parts = [OVERVIEW]
    for section, pages in MODULES.items():
        parts.append(f'## {section}\n\n<div class="modules" markdown="1">\n\n| module | contents |\n|---|---|')
        for page in pages:
            link = f"[`{page}`](../reference/{page}.md)"
            parts.append(f"| {link} | {len(entries(page))} names. {_summary(page)} |")
        parts.append("\n</div>\n")
    return "\n".join(parts)


def _summary(module: str) -> str:
    """The first paragraph of a module's docstring."""
    loaded = import_module("minigrad").Tensor if module == TENSOR else import_module(module)
    return docstrings.prose((inspect.getdoc(loaded) or "").split("\n\n")[0]).replace("|", "\\|")


def write(page: str) -> str:
    """The page of a module, with links relative to the repository's docs folder."""
    doc = inspect.getdoc(import_module("minigrad").Tensor if page == TENSOR else import_module(page)) or ""
    parts = [f"---\ntitle: {page}\n---\n\n# `{page}`", docstrings.markdown(doc)]
    ordered = sorted(entries(page), key=lambda entry: (entry.group != page, entry.group, entry.name.lower()))
    for group, listed in groupby(ordered, key=lambda entry: entry.group):
        if group != page:
            parts.append(f"## {group.removeprefix('minigrad.')}\n\n{_summary(group)}")
        parts += [part for entry in listed for part in _entry(entry)]
    parts += _spellings(page)
    return "\n\n".join(filter(None, parts)) + "\n"


def _entry(entry: Entry) -> Iterator[str]:
    """A name: heading, signature, docstring, rules, locations."""
    yield f"### `{entry.name}` {{ #{entry.anchor} }}"
    home = canonical().get(id(entry.value), entry)
    if entry.page != TENSOR and home.anchor != entry.anchor:
        yield f"The same as {_reference(home)}."
        return
    yield _signature(entry.anchor, entry.value, bound=entry.page == TENSOR)
    has_doc = callable(entry.value) or isinstance(entry.value, property)  # a number only has the docstring of its class
    doc = (has_doc and inspect.getdoc(entry.value)) or ""
    free = _free(entry)
    yield docstrings.markdown(doc.split("\n\n")[0] if free else doc)
    yield docstrings.markdown(examples().get(entry.anchor, ""))
    if free:
        yield f"As a function, with its gradient rules: {_reference(free)}."
    else:
        yield from _rules(entry.name)
    if inspect.isclass(entry.value) and entry.anchor != TENSOR:
        yield from _members(entry)
    elif entry.anchor == TENSOR:
        yield f"Its methods are on [a separate page](../reference/{TENSOR}.md)."
    yield _source(entry)


@cache
def examples() -> dict[str, str]:
    """The examples in docs/examples.txt, for names whose docstrings have none."""
    blocks = (ROOT / "docs" / "examples.txt").read_text(encoding="utf-8").rstrip().split("\n\n")
    return dict(block.split("\n", 1) for block in blocks)


def _free(entry: Entry) -> Entry | None:
    """The entry of the function that corresponds to a method."""
    if entry.page != TENSOR:
        return None
    functions = {other.name: other for other in entries("minigrad")}
    return functions.get(entry.name) or functions.get(entry.name.rstrip("_"))


def _reference(entry: Entry) -> str:
    return f"[`{entry.anchor}`](../reference/{entry.page}.md#{entry.anchor})"


def _rules(name: str) -> Iterator[str]:
    """The gradient rules, cases and kernels of the op with this name, if it exists."""
    index, ops = _ops()
    if name not in ops:
        return
    rows = [f"- {rule}" for rule in index._rules(ops[name])]
    yield f"**Gradient rules of the op `{name}`**" if rows else f"The op `{name}` is not differentiable."
    yield "\n".join(rows)
    case, kernels = index._test(name), ", ".join(index._kernels(ops[name]))
    facts = [f"{what} {links}" for what, links in (("tested by", case), ("kernels:", kernels)) if links]
    yield f"The op `{name}`: {'; '.join(facts)}\n{{: .places }}" if facts else ""


def _source(entry: Entry) -> str:
    """A link to the definition."""
    home = entry.group if entry.page in ("minigrad", TENSOR) else entry.module  # the file may bind it
    file, line = public.place(entry.name, entry.value, home)
    return f"Source: [{file}:{line}](../{file}#L{line})\n{{: .places }}"


def _members(entry: Entry) -> Iterator[str]:
    """The methods and properties that a class defines. Members without a docstring are only listed by name."""
    bare = []
    for name, member in vars(entry.value).items():
        value = getattr(member, "__func__", member)
        if name.startswith("_") or not (inspect.isroutine(value) or isinstance(value, property)):
            continue
        if not value.__doc__:
            bare.append(name)
            continue
        yield f"#### `{entry.name}.{name}` {{ #{entry.anchor}.{name} }}"
        yield _signature(f"{entry.name}.{name}", value, bound=not isinstance(member, staticmethod))
        yield docstrings.markdown(inspect.getdoc(value) or "")
    if bare:
        yield f"It also defines {', '.join(f'`{name}`' for name in bare)}."


def _spellings(page: str) -> Iterator[str]:
    """Names that ``minigrad.compat`` supplies in a module."""
    names = [name for name in import_module("minigrad.extension").layer().others(page) if not name.startswith("_")]
    own_names = {entry.name for entry in entries(page)}
    if rest := sorted(set(names) - own_names):
        yield SPELLINGS.format(names=" ".join(f"`{name}`" for name in rest))


def _signature(name: str, value: Any, bound: bool = False) -> str:
    """A name's highlighted signature, or a constant's value. With ``bound``, it omits ``self``."""
    text = _call(name, getattr(value, "fget", value), bound) if callable(value) or isinstance(value, property) else ""
    if isinstance(value, property):
        text = f"{name}{text[text.rfind(' -> ') :].replace(' -> ', ': ')}" if " -> " in text else name
    code = sources.coloured(text or f"{name} = {_value(value)}", import_module("pygments.lexers").PythonLexer())
    return f'<div class="highlight signature"><pre><code>{code}</code></pre></div>'


def _call(name: str, value: Any, bound: bool) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parameters = list(signature.parameters.values())[bound:]
    arguments = list(_written().written_parameters(parameters))
    result = signature.return_annotation
    end = "" if inspect.isclass(value) or result is signature.empty else f" -> {_written().annotation(result)}"
    line = f"{name}({', '.join(arguments)}){end}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in arguments), f"){end}"])


@cache
def _written() -> Any:
    """docs/generate_names.py, which writes signatures as source text."""
    return import_module("docs.generate_names")


@cache
def _ops() -> tuple[Any, dict[str, Any]]:
    """docs/generate_index.py, which writes each op's rules, cases and kernels; and all ops by name."""
    index: Any = import_module("docs.generate_index")
    return index, index.registry()


def _value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WIDTH and " at 0x" not in text else f"... ({type(value).__name__})"
