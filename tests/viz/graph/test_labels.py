"""Labels of boxes: shapes as tuples, and numbers as numbers."""

import math

from minigrad.viz.graph.fold import count, labels, number, shortened, shown, tree
from minigrad.viz.graph.graph_data import Value
from tests.support import graphs


def test_shapes_are_tuples_and_numbers_are_numbers() -> None:
    scalar, one = graphs.value(table=[[12.0]]), graphs.value(1, 1, table=[[12.0]])
    assert (shown(scalar), shown(one), shown(graphs.value(12))) == ("12", "[[12]]", "(12,)")
    assert shown(graphs.value()) == "()" and shown(None) == ""
    assert shown(graphs.value(1, 1, 1, table=[[12.0]])) == "(1, 1, 1)"
    assert shown(graphs.value(table=[[-0.5]]), "∇") == "∇ −0.5"
    assert shown(graphs.value(2, table=[[3.0, 4.0]]), "∇") == "‖∇‖ 5"
    assert shown(Value((2,), "float32", "cpu", 8), "∇") == ""


def test_numbers() -> None:
    texts = {12.0: "12", -0.12341: "−0.1234", 12345.6: "12350", 1.5e-7: "1.50e−7", -2e9: "−2.00e+9", 0.0: "0"}
    assert {x: number(x) for x in texts} == texts
    assert [number(x) for x in (math.nan, math.inf, -math.inf)] == ["NaN", "Infinity", "−Infinity"]
    assert [count(n) for n in (1, 999, 12_345, 1_500_000, 7 * 10**9)] == ["1", "999", "12.3 k", "1.5 M", "7 G"]


def test_names_are_short_and_on_one_line() -> None:
    assert shortened("two\nlines\x00") == "two lines\ufffd"
    assert len(shortened(graphs.LONG)) == 40
    joined, turned = "👩\u200d🔬", "\u202e"  # switches to right-to-left
    assert shortened(f"{joined} {turned}ab \ud800") == f"{joined} \ufffdab \ufffd"


def test_repeats_show_their_count_and_groups_their_content() -> None:
    graph = graphs.transformer(12, listed=True)
    all_labels = labels(graph, tree(graph))
    (blocks,) = [label for label in all_labels.values() if label.line[1:] and label.line[1][1] == "times"]
    assert [text for text, _ in blocks.line] == ["blocks", " × 12", "Block"]
    assert blocks.below[2] == "385 nodes · 12.3 k parameters · ‖∇‖ 23.66"
    assert "parameters" not in blocks.below[1] and "∇" not in blocks.below[0]
