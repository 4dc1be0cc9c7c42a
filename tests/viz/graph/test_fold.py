"""The boxes that are drawn: nesting, repeats, open boxes, and the number of clicks to a node."""

import dataclasses
import math

import pytest

from minigrad import viz
from minigrad.viz.graph.fold import BUDGET, CLICKS, clicks, total, tree, wires
from tests.support import graphs
from tests.support.transformers import sentences, small


def labels(folded, opened=None):
    boxes = folded.boxes(folded.opened if opened is None else opened)
    return [folded.groups[number].label for kind, number in boxes if kind == "group"]


def test_a_list_of_equal_modules_is_one_box() -> None:
    graph = graphs.transformer(12, listed=True)
    folded = tree(graph)
    assert labels(folded) == ["blocks"]
    repeat = next(group for group in folded.groups if group.kind == "repeat")
    assert (repeat.label, repeat.path, repeat.times, len(repeat.children)) == ("blocks", "blocks.0", 12, 13)
    assert graph.nodes[repeat.children[0][1]].name == "mask"  # all of them read it
    assert max(clicks(folded, node.id) for node in graph.nodes) <= CLICKS


def test_a_graph_of_only_repeated_modules_is_one_open_box() -> None:
    for around, label in (("", "0 … 2"), ("layers", "layers")):
        make = graphs.Builder()
        make.module("", "Sequential")
        make.module("layers", "ModuleList")
        x = make.leaf("constant", "x")
        for number in range(3):
            path = f"{around}.{number}".lstrip(".")
            make.module(path, "Layer", "layer")
            x = make.op("tanh", path, make.op("exp", path, x))
        folded = tree(make.done(x))
        assert labels(folded, {0}) == [label]
        assert labels(folded) == ["0", "1", "2"]
        assert [group.times for group in folded.groups if group.kind == "repeat"] == [3]


def test_modules_of_another_structure_are_not_a_repeat() -> None:
    graph = graphs.transformer(4, listed=True)
    graph.modules["blocks.1"] = dataclasses.replace(graph.modules["blocks.1"], alike="another")
    folded = tree(graph)
    repeats = [(group.label, group.times) for group in folded.groups if group.kind == "repeat"]
    assert repeats == [("2 … 3", 2)]
    many = tree(graphs.transformer(60, listed=True))  # in sections
    repeat = next(group for group in many.groups if group.kind == "repeat")
    assert repeat.times == 60 and len(repeat.children) < BUDGET


def test_sections_hold_an_op_and_its_docked_leaves() -> None:
    graph = graphs.linears(100)
    folded = tree(graph)
    assert all(folded.group_of[leaf] == folded.group_of[op] for leaf, op in folded.docks.items())
    sections = [folded.size(number) for number, group in enumerate(folded.groups) if group.kind == "section"]
    assert max(sections) - min(sections) <= 1 and sum(sections) == 101  # including the input
    assert len(folded.docks) == 200 and sorted(folded.nodes(0)) == list(range(len(graph.nodes)))
    few = graphs.linears(BUDGET // 2)
    assert all(group.kind != "section" for group in tree(few).groups)  # docked leaves do not count


def test_every_node_is_at_most_three_clicks_away() -> None:
    for make in (graphs.transformer, graphs.small, lambda: graphs.chain(1500), lambda: graphs.linears(300)):
        graph = make()
        boxes = tree(graph)
        assert len(boxes.boxes(boxes.opened)) <= BUDGET
        assert max(clicks(boxes, node.id) for node in graph.nodes) <= CLICKS
        assert sorted(boxes.nodes(0)) == list(range(len(graph.nodes)))
        everything = set(range(len(boxes.groups)))
        assert all(boxes.box_of(node.id, everything) == ("node", node.id) for node in graph.nodes)
        assert {boxes.box_of(node.id, set()) for node in graph.nodes} == {("group", 0)}


def test_wires_between_boxes_never_run_backwards() -> None:
    for graph in (graphs.transformer(4), graphs.chain(200), graphs.small()):
        folded = tree(graph)
        for opened in (folded.opened, {0}, set(range(len(folded.groups)))):
            place = {box: i for i, box in enumerate(folded.boxes(opened))}
            for leaf, op in folded.docks.items():
                place.setdefault(("node", leaf), place.get(("node", op), 0) - 0.5)
            lines = wires(graph, folded, opened)
            assert all(place[source] < place[target] for source, target in lines)
            inside = sum(folded.box_of(e.source, opened) == folded.box_of(e.target, opened) for e in graph.edges)
            assert sum(map(len, lines.values())) + inside == len(graph.edges)


def test_a_module_that_runs_twice_is_two_boxes() -> None:
    make = graphs.Builder()
    make.module("", "Net")
    make.module("drop", "Dropout")
    x = make.leaf("input", "x")
    for _ in range(2):
        x = make.op("mul", "drop", make.op("where", "drop", x))
        x = make.op("add", "", x)
    assert labels(tree(make.done(x)), {0}) == ["drop", "drop"]


def test_a_module_of_one_op_is_shown_as_the_op_with_its_name() -> None:
    graph = graphs.transformer(2)
    folded = tree(graph)
    norm = next(node for node in graph.nodes if node.op == "layer_norm" and node.module == "norm")
    assert folded.names[norm.id] == "norm" and folded.group_of[norm.id] == 0
    docked = {graph.nodes[leaf].name for leaf, op in folded.docks.items() if op == norm.id}
    assert docked == {"norm.weight", "norm.bias"}
    shared = next(node.id for node in graph.nodes if node.name == "wte.weight")  # in the box that holds all its readers
    assert folded.group_of[shared] == 0 and shared not in folded.docks


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


def test_the_layers_of_a_translator_fold_as_a_whole() -> None:
    model, batch = small(), sentences()
    for view, prefix in ((viz.graph(model.loss, *batch), ""), (viz.graph(model.loss(*batch)), "model.")):
        boxes, ops = view.tree, [node for node in view.graph.nodes if node.kind == "op"]
        for stack, additions in (("encoder", 4), ("decoder", 6)):  # one residual connection for each part
            paths = {f"{prefix}{stack}.{i}" for i in range(2)}
            (repeat,) = [i for i, group in enumerate(boxes.groups) if group.kind == "repeat" and group.path in paths]
            assert boxes.groups[repeat].times == 2 and repeat not in boxes.opened
            of_layers = [node for node in ops if any(f"{node.module}.".startswith(f"{path}.") for path in paths)]
            assert of_layers == [node for node in ops if node.id in boxes.nodes(repeat)]
            assert [node.op for node in of_layers].count("add") == additions
        assert len(boxes.boxes(boxes.opened)) <= 15
