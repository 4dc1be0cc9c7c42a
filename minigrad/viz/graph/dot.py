"""Writes a folded graph in the DOT and Mermaid languages, and draws it with Graphviz. Names from the program are
escaped, put on one line, and truncated in the middle if they are long."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ...backend.extras import how_to_install
from ..palette import DARK, LIGHT, rgb
from ..vector import escaped
from .fold import DIRECTIONS, Child, Direction, Tree, count, key_of, labels, number, shortened, total, wires
from .graph_data import Edge, Graph

Colour = Literal["none", "time", "bytes", "gradient"]
SIZE, SMALL = 12, 10  # font sizes in points: of first lines, and of second lines and leaves next to an op
_ROW = 0.3  # the height of a leaf next to an op, in inches
_NO_LABEL = re.compile(r"[^\w ,.()=∇‖·×…−]|\.(?= )")  # characters that Mermaid might interpret in labels
_UNQUOTED = str.maketrans({'"': "'", "\\": "/"})
_INKS: dict[str, str] = {"time": "minus", "bytes": "accent", "gradient": "backward"}  # attributes of a palette


class Dot:
    """Writes the visible part of a tree. Subclasses override ``wire`` (the attributes of an edge), ``legend`` (an
    explanation of the edges) and ``marked`` (the highlighted box)."""

    marked = ""

    def __init__(
        self, graph: Graph, tree: Tree, direction: Direction = "both", colour: Colour = "none", dark: bool = False
    ) -> None:
        self.graph, self.tree, self.direction, self.colour = graph, tree, direction, colour
        self.palette = DARK if dark else LIGHT
        self.labels = labels(graph, tree)
        self.wires = wires(graph, tree, tree.opened)
        self.docked: set[Child] = {("node", leaf) for leaf in tree.docks}
        boxes = tree.boxes(tree.opened, docked=True) if colour != "none" else ()
        measures = ((box, self._measure(box)) for box in boxes)
        self.measures = {box: value for box, value in measures if value and math.isfinite(value)}
        self.ends = [end(self.measures.values(), default=0.0) for end in (min, max)]

    def source(self) -> str:
        ink = self.palette
        font = f'fontname="Noto Sans,DejaVu Sans,Arial,sans-serif", fontsize={SIZE}, fontcolor="{ink.ink}"'
        rows = "".join(f'<tr><td align="left">{row}</td></tr>' for row in self.legend())
        title = shortened(self.graph.title).translate(_UNQUOTED)
        lines = [
            f'digraph "{title}" {{',
            f'  graph [rankdir=TB, nodesep=0.25, ranksep=0.35, pad=0.2, bgcolor="{ink.paper}", {font}, '
            f'labelloc=b, labeljust=l, label=<<table border="0" cellpadding="1">{rows}</table>>];',
            f'  node [shape=box, style=filled, height=0.4, margin="0.15,0.05", {font}, color="{ink.quiet}"];',
            "  edge [arrowsize=0.55, penwidth=0.9];",
            *self._boxes(self.tree.groups[0].children if 0 in self.tree.opened else [("group", 0)], "  "),
        ]
        for (source, target), edges in self.wires.items():
            if source not in self.docked:
                chain = any(self.graph.nodes[edge.source].kind == "op" for edge in edges)  # draw these edges straight
                look = f"weight={4 if chain else 1}, {self.wire(edges)}"
                lines.append(f"  {key_of(source)} -> {key_of(target)} [{look}];")
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """The image drawn by Graphviz's ``dot``. Raises ImportError if Graphviz is missing."""
        result: str = library().Source(self.source()).pipe("svg", encoding="utf-8", quiet=True)
        return result[result.index("<svg") :]

    def mermaid(self) -> str:
        """The tree in the Mermaid language (https://mermaid.js.org), which GitHub renders in Markdown."""
        lines = ["flowchart TB", *self._nested(("group", 0), "  ")]
        for (source, target), edges in self.wires.items():
            arrow = "-->" if all(edge.gradient is None for edge in edges) else "<-->"
            lines.append(f"  {key_of(source)} {arrow} {key_of(target)}")
        return "\n".join(lines) + "\n"

    def _nested(self, box: Child, indent: str) -> Iterator[str]:
        (kind, number), key = box, key_of(box)
        is_open, label = kind == "group" and number in self.tree.opened, self.labels[key]
        rows = " ".join(text for text, _ in label.line), label.below[DIRECTIONS.index(self.direction)]
        plain = [_NO_LABEL.sub(lambda c: f"#{ord(c[0])};", row) for row in rows[: 1 if is_open else 2] if row]
        of_op = kind == "node" and self.graph.nodes[number].kind == "op"
        before, after = "[]" if of_op or is_open else ("([", "])") if kind == "node" else ("[[", "]]")
        yield f'{indent}{"subgraph " * is_open}{key}{before}"{"<br/>".join(plain)}"{after}'
        if is_open:
            yield f"{indent}  direction TB"
            for child in self.tree.groups[number].children:
                yield from self._nested(child, f"{indent}  ")
            yield f"{indent}end"

    def _boxes(self, boxes: Iterable[Child], indent: str) -> Iterator[str]:
        for box in boxes:
            kind, child = box
            if kind == "group" and child in self.tree.opened:
                look = f'labelloc=t, style=rounded, color="{self.palette.line}"'
                yield f'{indent}subgraph "cluster_g{child}" {{'
                yield f'{indent}  graph [id="g{child}", label=<{self._line(f"g{child}", self.palette.quiet)}>, {look}];'
                yield from self._boxes(self.tree.groups[child].children, f"{indent}  ")
                yield f"{indent}}}"
            elif box not in self.docked:
                yield f"{indent}{key_of(box)} [{self._box(box)}];"
                if kind == "node":
                    yield from self._side(child, indent)

    def _side(self, op: int, indent: str) -> Iterator[str]:
        """The leaves next to an op, as a table. With the lowest edge first, Graphviz 2 draws arrowheads correctly."""
        if not (docks := self.labels[f"n{op}"].docks):
            return
        rows = ""
        for leaf, text in docks:
            fill = self._mixed(self._opacity(("node", leaf)) or 0.0)
            look = f'border="1" style="rounded" color="{self.palette.line}" bgcolor="{fill}"'
            rows += f"<tr><td {look}>{span(f' {text} ', self.palette.ink, SMALL)}</td></tr>"
        table = f'<table border="0" cellborder="0" cellspacing="2" cellpadding="2">{rows}</table>'
        yield f'{indent}s{op} [shape=plain, style="", label=<{table}>]; {{rank=same; s{op}; n{op}}}'
        for leaf, _ in reversed(docks):
            look = self.wire(self.wires[("node", leaf), ("node", op)])
            yield f"{indent}s{op} -> n{op} [{look}];"

    def _box(self, box: Child) -> str:
        (kind, child), key, ink = box, key_of(box), self.palette
        tint = self._opacity(box)
        quiet = ink.quiet if tint is None else ink.ink
        below = self.labels[key].below[DIRECTIONS.index(self.direction)]
        text = self._line(key, quiet) + (f"<br/>{span(below, quiet, SMALL)}" if below else "")
        look = f'id="{key}", fillcolor="{self._mixed(tint or 0.0)}"'
        if (leaves := len(self.labels[key].docks)) > 1:
            look += f", height={_ROW * leaves:g}"
        if key == self.marked:
            look += f', color="{ink.backward}", penwidth=2.2'
        elif kind == "group":
            look += f', color="{ink.ink}"' + (", peripheries=2" if self.tree.groups[child].kind == "repeat" else "")
        elif (leaf := self.graph.nodes[child].kind) != "op":
            look += f', style="filled,rounded", color="{ink.accent if leaf == "input" else ink.line}"'
        return f"label=<{text}>, {look}"

    def _line(self, key: str, quiet: str) -> str:
        looks = ((text, quiet if look == "kind" else self.palette.ink) for text, look in self.labels[key].line)
        return "".join(span("  " * bool(i) + text, colour) for i, (text, colour) in enumerate(looks))

    def _measure(self, box: Child) -> float | None:
        kind, child = box
        each = total(self.graph, [child] if kind == "node" else [*self.tree.nodes(child)])
        if self.colour == "time":
            forward = 0 if self.direction == "backward" else each.forward_seconds or 0
            return forward + (0 if self.direction == "forward" else each.backward_seconds or 0)
        return float(each.bytes) if self.colour == "bytes" else each.gradient

    def _opacity(self, box: Child) -> float | None:
        """A box's opacity, on a logarithmic scale from 0.05 to 0.45; None if it has no finite value."""
        if box not in self.measures:
            return None
        low, high = self.ends
        return 0.05 + 0.4 * (math.log(self.measures[box] / low) / math.log(high / low) if high > low else 1.0)

    def _mixed(self, opacity: float) -> str:
        pairs = zip(rgb(getattr(self.palette, _INKS.get(self.colour, "paper"))), rgb(self.palette.paper), strict=True)
        return "#" + "".join(f"{round(paper + (ink - paper) * opacity):02x}" for ink, paper in pairs)

    def wire(self, edges: Sequence[Edge]) -> str:
        forward, backward = self.palette.forward, self.palette.backward
        back = self.direction != "forward" and any(edge.gradient is not None for edge in edges)
        if self.direction == "backward":
            return f'color="{backward}", dir=back' if back else f'color="{self.palette.line}", dir=none'
        return f'color="{forward}:{backward}", dir=both' if back else f'color="{forward}"'

    def legend(self) -> Iterator[str]:
        ink, parts = self.palette, []
        if self.direction != "backward":
            parts.append(span("↓ results", ink.forward, SMALL))
        if self.direction != "forward":
            none = "no backward yet: there are no gradients to show"
            parts.append(span("↑ gradients" if self.graph.backward == "done" else none, ink.backward, SMALL))
        yield "    ".join(parts)
        name = "gradient norm" if self.colour == "gradient" else self.colour
        if not self.measures:
            yield from [span(f"no {name} known", ink.quiet, SMALL)] * (name != "none")
            return
        unit = {"time": "s", "bytes": "B"}.get(self.colour)
        low, high = (span(count(x, unit) if unit else number(x), self.palette.quiet, SMALL) for x in self.ends)
        shades = f'bgcolor="{self._mixed(0.05)}:{self._mixed(0.45)}" border="1" color="{self.palette.line}"'
        cells = f'<td>{span(name, self.palette.quiet, SMALL)} {low}</td><td width="80" {shades}></td><td>{high}</td>'
        yield f'<table border="0" cellborder="0"><tr>{cells}</tr></table>'


def span(text: str, colour: str, size: int = SIZE, face: str = "") -> str:
    """Format text for a Graphviz label."""
    family = f' face="{face}"' if face else ""
    return f'<font color="{colour}" point-size="{size}"{family}>{escaped(text)}</font>'


def library() -> Any:
    """Import Graphviz's Python package. Raises ImportError if it, or the ``dot`` program, is missing."""
    try:
        import graphviz

        graphviz.version()
    except (ImportError, RuntimeError) as error:  # graphviz.ExecutableNotFound
        raise ImportError(
            f"images of graphs need Graphviz: its program dot (apt, brew, winget or conda install graphviz) "
            f"and its Python package ({how_to_install('graphviz')}). save('x.html') needs neither: the page "
            f"draws the graph itself, and can save it as SVG"
        ) from error
    return graphviz
