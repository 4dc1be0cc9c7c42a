"""A step of a backward pass on the graph's drawing: which gradients have gone their way, and the step's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..graph.data import Edge, Graph, Node
from ..graph.drawing import MONO, SERIF, Note, Painter, Scene, Stroke
from ..graph.labels import Label, key_of, labels
from ..graph.values import summary
from ..palette import DARK, LIGHT, Palette
from ..vector import cut
from .record import Delivery, Step

MOST = 6  # gradients that are told one by one
_LONGEST = 120  # characters of a line
Key = tuple[int, int, str]  # of an edge: source, target and input


def picture(scene: Scene, steps: Sequence[Step], number: int, dark: bool = False) -> str:
    """Step ``number`` (0: none has run) as the text of an SVG file. The groups around its node are open."""
    shown = steps[number - 1].node if number else scene.graph.output
    around = set(scene.tree.around(scene.tree.group_of[shown]))
    if not around <= scene.tree.opened:
        tree = replace(scene.tree, opened=scene.tree.opened | around)
        scene = Scene.of(scene.graph, tree, scene.direction, scene.labels)
    return _StepPainter(scene, steps, number, DARK if dark else LIGHT).picture()


class _StepPainter(Painter):
    """Draws the graph as a step leaves it."""

    def __init__(self, scene: Scene, steps: Sequence[Step], number: int, palette: Palette) -> None:
        self.arrival: dict[Key, int] = {  # the step in which each edge carries its gradient
            (delivery.target, step.node, delivery.input): i
            for i, step in enumerate(steps, 1)
            for delivery in step.deliveries
        }
        self.number, self.count = number, len(steps)
        super().__init__(replace(scene, labels=_labels(scene, steps[:number])), "none", palette)
        self.marked = key_of(("node", steps[number - 1].node if number else scene.graph.output))
        self.notes = [*(_told(scene.graph, steps, number) if number else _before(scene.graph))]

    def kinds(self) -> dict[str, Stroke]:
        """The kinds of line there are."""
        backward, quiet = self.palette.backward, self.palette.quiet
        return {"now": Stroke(backward, 2.8), "done": Stroke(backward), "waits": Stroke(quiet, dash="4 3")}

    def meanings(self) -> list[tuple[str, str]]:
        """Kind and text of what lines mean."""
        known = [("now", f"step {self.number} of {self.count}")] if self.number else []
        known += [("done", "gradients of earlier steps")] if self.number > 1 else []
        return known + ([("waits", "gradients to come")] if self.number < self.count else [])

    def looks(self, edges: Iterable[Edge]) -> tuple[Stroke | None, Stroke | None]:
        """The line of a wire: only gradients have some."""
        found = (self.arrival.get((edge.source, edge.target, edge.input)) for edge in edges)
        when = [step for step in found if step is not None]
        if not when:
            return None, None
        has_run = min(when) <= self.number
        return None, self.strokes["now" if self.number in when else "done" if has_run else "waits"]


def _labels(scene: Scene, steps: Sequence[Step]) -> dict[str, Label]:
    """What boxes say once these steps have run: of gradients that are not complete, nothing. They stay as wide."""
    ran = {scene.graph.output, *(step.node for step in steps)}
    ran |= {d.target for step in steps for d in step.deliveries if d.count == d.of}
    nodes = [node if node.id in ran else replace(node, gradient=None) for node in scene.graph.nodes]
    said = labels(replace(scene.graph, nodes=nodes), scene.tree)
    return {key: replace(label, below=said[key].below) for key, label in scene.labels.items()}


# The lines below ------------------------------------------------------------------------------------------


def _before(graph: Graph) -> Iterator[Note]:
    """What is told where nothing has run."""
    yield Note("No backward yet", 17, family=SERIF, above=8)
    yield _line(f"Nothing has a gradient, which is not zero. Backward will begin at {_called(graph, graph.output)}.")


def _told(graph: Graph, steps: Sequence[Step], number: int) -> Iterator[Note]:
    """A step: its op, the gradient that arrives, and each that goes out with its formula and its sum."""
    step = steps[number - 1]
    node = graph.nodes[step.node]
    op = graph.ops[node.op]
    makes = f" makes {node.name}" if node.name not in ("", op.name) else ""
    yield Note(cut(f"{op.name}{makes}", 60), 17, family=SERIF, above=8)
    facts = (f"step {number} of {len(steps)}", node.module and f"in {node.module}", node.place)
    yield _line(" · ".join(filter(None, facts)), quiet=True)
    if node.code:
        yield _line(node.code, family=MONO)
    yield from _arrives(step, node)
    for delivery in step.deliveries[:MOST]:
        yield from _goes_out(graph, node, delivery)
    if (left := len(step.deliveries) - MOST) > 0:
        yield _line(f"and {left} more", quiet=True)
    if not step.deliveries:
        yield _line("nothing goes out", above=6)


def _arrives(step: Step, node: Node) -> Iterator[Note]:
    for slot, value in step.arrived.items():
        which = f" of result {slot + 1}" if len(step.arrived) > 1 or slot else ""
        yield _line(f"arrives: g{which} {summary(value)}", above=6)
    if hooks := node.attributes.get("hooks"):
        yield _line(f"hooks of the program have seen it, and may have changed it: {hooks}", quiet=True)


def _goes_out(graph: Graph, node: Node, delivery: Delivery) -> Iterator[Note]:
    known = graph.ops[node.op].gradients
    formula = known.get(delivery.input) or known.get(delivery.input.partition(" ")[0], "")
    yield _line(f"{delivery.input} → {_called(graph, delivery.target)}\u2003{formula}", above=6, family=SERIF, size=14)
    yield _line(summary(delivery.gradient), indent=16)
    if delivery.of > 1:
        running = "" if delivery.count == 1 else f": their sum is {summary(delivery.total)}"
        yield _line(f"{delivery.count} of {delivery.of} have arrived{running}", indent=16, quiet=True)


def _line(text: str, size: float = 12, **look: object) -> Note:
    return Note(cut(" ".join(text.split()) if look.get("family") == MONO else text, _LONGEST), size, **look)  # type: ignore[arg-type]


def _called(graph: Graph, number: int) -> str:
    """What the program calls a node, or what it is."""
    node = graph.nodes[number]
    return cut(node.name or (graph.ops[node.op].name if node.kind == "op" else node.kind), 60)
