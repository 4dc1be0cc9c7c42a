"""Which boxes are drawn: nesting, repeats, what is open, and how many clicks lead to a node."""

import dataclasses
import math

import pytest

from minigrad import viz
from minigrad.viz.graph.fold import BUDGET, CLICKS, clicks, total, tree, wires
from tests.support import graphs
from tests.support.transformers import sentences, small


def labels(made, opened=None):
    found = made.boxes(made.opened if opened is None else opened)
    return [made.groups[number].label for kind, number in found if kind == "group"]


def test_a_list_of_equal_modules_is_one_box() -> None:
    graph = graphs.transformer(12, listed=True)
    made = tree(graph)
    assert labels(made) == ["blocks"]
    repeat = next(group for group in made.groups if group.kind == "repeat")
    assert (repeat.label, repeat.path, repeat.times, len(repeat.children)) == ("blocks", "blocks.0", 12, 13)
    assert graph.nodes[repeat.children[0][1]].name == "mask"  # which they all read
    assert max(clicks(made, node.id) for node in graph.nodes) <= CLICKS


def test_modules_that_are_all_there_is_are_one_box_which_is_open() -> None:
    for around, label in (("", "0 … 2"), ("layers", "layers")):
        make = graphs.Builder()
        make.module("", "Sequential")
        make.module("layers", "ModuleList")
        x = make.leaf("constant", "x")
        for number in range(3):
            path = f"{around}.{number}".lstrip(".")
            make.module(path, "Layer", "layer")
            x = make.op("tanh", path, make.op("exp", path, x))
        made = tree(make.done(x))
        assert labels(made, {0}) == [label]
        assert labels(made) == ["0", "1", "2"]
        assert [group.times for group in made.groups if group.kind == "repeat"] == [3]


def test_modules_of_another_structure_are_no_repeat() -> None:
    graph = graphs.transformer(4, listed=True)
    graph.modules["blocks.1"] = dataclasses.replace(graph.modules["blocks.1"], alike="another")
    made = tree(graph)
    repeats = [(group.label, group.times) for group in made.groups if group.kind == "repeat"]
    assert repeats == [("2 … 3", 2)]
    many = tree(graphs.transformer(60, listed=True))  # in sections
    repeat = next(group for group in many.groups if group.kind == "repeat")
    assert repeat.times == 60 and len(repeat.children) < BUDGET


def test_sections_hold_an_op_and_the_leaves_at_its_side() -> None:
    graph = graphs.linears(100)
    made = tree(graph)
    assert all(made.group_of[leaf] == made.group_of[op] for leaf, op in made.docks.items())
    sections = [made.size(number) for number, group in enumerate(made.groups) if group.kind == "section"]
    assert max(sections) - min(sections) <= 1 and sum(sections) == 101  # and the input
    assert len(made.docks) == 200 and sorted(made.nodes(0)) == list(range(len(graph.nodes)))
    few = graphs.linears(BUDGET // 2)
    assert all(group.kind != "section" for group in tree(few).groups)  # leaves at the side take no room


def test_every_node_is_three_clicks_away_at_most() -> None:
    for make in (graphs.transformer, graphs.small, lambda: graphs.chain(1500), lambda: graphs.linears(300)):
        graph = make()
        boxes = tree(graph)
        assert len(boxes.boxes(boxes.opened)) <= BUDGET
        assert max(clicks(boxes, node.id) for node in graph.nodes) <= CLICKS
        assert sorted(boxes.nodes(0)) == list(range(len(graph.nodes)))
        everything = set(range(len(boxes.groups)))
        assert all(boxes.box_of(node.id, everything) == ("node", node.id) for node in graph.nodes)
        assert {boxes.box_of(node.id, set()) for node in graph.nodes} == {("group", 0)}


def test_wires_between_boxes_never_run_back() -> None:
    for graph in (graphs.transformer(4), graphs.chain(200), graphs.small()):
        made = tree(graph)
        for opened in (made.opened, {0}, set(range(len(made.groups)))):
            place = {box: i for i, box in enumerate(made.boxes(opened))}
            for leaf, op in made.docks.items():
                place.setdefault(("node", leaf), place.get(("node", op), 0) - 0.5)
            found = wires(graph, made, opened)
            assert all(place[source] < place[target] for source, target in found)
            inside = sum(made.box_of(e.source, opened) == made.box_of(e.target, opened) for e in graph.edges)
            assert sum(map(len, found.values())) + inside == len(graph.edges)


def test_a_module_that_runs_twice_is_two_boxes() -> None:
    make = graphs.Builder()
    make.module("", "Net")
    make.module("drop", "Dropout")
    x = make.leaf("input", "x")
    for _ in range(2):
        x = make.op("mul", "drop", make.op("where", "drop", x))
        x = make.op("add", "", x)
    assert labels(tree(make.done(x)), {0}) == ["drop", "drop"]


def test_a_module_of_one_op_is_the_op_under_its_name() -> None:
    graph = graphs.transformer(2)
    made = tree(graph)
    norm = next(node for node in graph.nodes if node.op == "layer_norm" and node.module == "norm")
    assert made.names[norm.id] == "norm" and made.group_of[norm.id] == 0
    docked = {graph.nodes[leaf].name for leaf, op in made.docks.items() if op == norm.id}
    assert docked == {"norm.weight", "norm.bias"}
    shared = next(node.id for node in graph.nodes if node.name == "wte.weight")  # stands where all its readers are
    assert made.group_of[shared] == 0 and shared not in made.docks


def test_depth() -> None:
    graph = graphs.transformer(2)
    assert tree(graph, depth=0).boxes(set()) == [("group", 0)]
    assert labels(tree(graph, depth=1, repeats=False)) == ["blocks.0", "blocks.1"]
    assert labels(tree(graph, depth=2, repeats=False)) == ["attention", "mlp"] * 2
    assert labels(tree(graph, depth=9, repeats=False)) == []
    assert labels(tree(graph, depth=9)) == ["blocks.0 … blocks.1"]


def test_totals_add_up() -> None:
    graph = graphs.transformer(2)
    everything = total(graph, [node.id for node in graph.nodes])
    ops = [node for node in graph.nodes if node.kind == "op"]
    assert everything.forward_seconds == pytest.approx(sum(node.forward_seconds for node in ops))
    assert everything.bytes == 256 * (len(graph.nodes) - 1) + 4
    assert everything.saved_bytes == 256 * sum(len(node.saved) for node in ops)
    weights = [node for node in graph.nodes if node.kind == "parameter"]
    assert everything.parameters == 64 * len(weights)
    norms = [node.gradient.statistics["norm"] for node in weights]
    assert everything.gradient == pytest.approx(math.hypot(*norms))
    graph = graphs.small(backward=False)
    assert total(graph, [node.id for node in graph.nodes]).gradient is None


def test_the_layers_of_a_translator_fold_whole() -> None:
    model, batch = small(), sentences()
    for view, prefix in ((viz.graph(model.loss, *batch), ""), (viz.graph(model.loss(*batch)), "model.")):
        boxes, ops = view.tree, [node for node in view.graph.nodes if node.kind == "op"]
        for stack, additions in (("encoder", 4), ("decoder", 6)):  # one around each of their parts
            paths = {f"{prefix}{stack}.{i}" for i in range(2)}
            (repeat,) = [i for i, group in enumerate(boxes.groups) if group.kind == "repeat" and group.path in paths]
            assert boxes.groups[repeat].times == 2 and repeat not in boxes.opened
            of_layers = [node for node in ops if any(f"{node.module}.".startswith(f"{path}.") for path in paths)]
            assert of_layers == [node for node in ops if node.id in boxes.nodes(repeat)]
            assert [node.op for node in of_layers].count("add") == additions
        assert len(boxes.boxes(boxes.opened)) <= 15
