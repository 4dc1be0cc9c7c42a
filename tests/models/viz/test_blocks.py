"""Blocks of worked examples: as text, as pages, and in a real browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from examples.lesson.markdown import told
from examples.lesson.plain import plain, width
from examples.lesson.program import show as show_lesson
from minigrad import nn
from minigrad.viz.palette import LIGHT
from minigrad_models.viz.blocks import (
    Chart,
    Checked,
    Choice,
    Dense,
    Equation,
    Lesson,
    Line,
    Mark,
    Matrix,
    Picture,
    Pictures,
    Plane,
    Section,
    Series,
    Steps,
    Text,
    number,
    scientific,
    show,
    softmax_told,
    times,
)
from tests.support.browser import contrast, texts
from tests.support.cases import raises

HTML = '<img src=x onerror="alert(1)">'


def of(*blocks: object) -> Lesson:
    return Lesson("test", "A test", "About it.", (Section("Only section", blocks),))  # type: ignore[arg-type]


def body(*blocks: object) -> str:
    return plain(of(*blocks)).split("------------\n\n")[1].rstrip("\n")


def test_numbers_are_written_as_in_books() -> None:
    values = [1.0, -0.5, -0.001, float("-inf"), float("nan"), 1234.5]
    assert [number(v) for v in values] == ["1.00", "−0.50", "0.00", "−∞", "NaN", "1234.50"]


def test_an_equation_in_text() -> None:
    one = Matrix("A", np.array([[1.0], [-2.0]]), ("I", "cats"), ("x",), 1)
    lines = ["A                 B", "          x        [ 1  0 ]", "I    [  1.0 ]  ×   [ 0  1 ]", "cats [ −2.0 ]"]
    assert body(Equation(one, "×", Matrix("B", np.eye(2), digits=0))).splitlines() == lines


def test_a_wide_matrix_is_cut() -> None:
    wide = Matrix("A", np.arange(20.0).reshape(2, 10), (), [str(i) for i in range(10)], 0, first=2)
    assert wide.shown == [0, 1, 9] and wide.data()["columns"] == ["0", "1", "9"] and wide.data()["cut"] == 2
    assert body(wide).splitlines()[2:] == [" [  0   1  …   9 ]", " [ 10  11  …  19 ]"]
    whole = Matrix("A", np.zeros((1, 3)), first=2)
    assert whole.shown == [0, 1, 2] and whole.data()["cut"] is None


def test_other_blocks_in_text() -> None:
    assert body(Steps(("a", "b"), (("x", "1"), ("y", "22")), numbers=(1,))) == "a   b\n-----\nx   1\ny  22"
    assert body(Text("call `f(x)`")) == "call f(x)"
    assert body(Checked("it holds", True), Checked("it fails", False)) == "[ok] it holds\n\n[WRONG] it fails"
    assert body(Line(("they", "are"), (0.5, 0.25), 0)).splitlines() == [
        "  they  50.0 %  ████████████████████  ← looks",
        "  are   25.0 %  ██████████",
    ]
    chart = Chart("T", "d", "y", (Series("one", (1, 2), (3, 4)), Series("two", (2,), (5,))), digits=1)
    assert body(chart).splitlines() == ["T", "d  one  two", "-----------", "1  3.0", "2  4.0  5.0"]
    theory = Series("theory", (1, 2), (1e-9, 1), dashed=True, like="one")
    chart = Chart("T", "d", "y", (Series("one", (1, 2), (1.2345e-8, 0)), theory), digits=None)
    assert body(chart).splitlines() == ["T", "d      one", "----------", "1  1.23e−8", "2     0.00"]
    assert [scientific(v) for v in (1, 0.01234, 456.7, -2e5, np.inf)] == ["1.00", "0.0123", "457", "−2.00e5", "∞"]
    choice = Choice("head", ("1", "2"), (Text("first"), Text("second")), start=1)
    assert body(choice) == "head 2\nsecond"


def test_a_chart_as_a_vector_picture() -> None:
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    one, theory = Series("one", (1, 2, 3), (1, 10, 100)), Series("theory", (1, 3), (1, 100), dashed=True, like="one")
    svg = Chart("T", "d", "y", (one, theory), log_y=True).svg()
    labels = [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]
    assert {"T", "d", "y", "one", "10"} <= {*labels} and "theory" not in labels
    assert svg.count(f'stroke="{LIGHT.nth(0)}"') == 3 and svg.count('stroke-dasharray="4,3"') == 1  # one in the legend
    with pytest.raises(ValueError, match="the chart T has no series 'two': it has one"):
        Chart("T", "d", "y", (one, Series("theory", (1,), (1,), like="two"))).svg()


def test_pictures_have_their_title_in_text_and_one_full_colour_on_the_page() -> None:
    pictures = Pictures("Digits", (Picture(np.array([[1.0, -np.inf]])), Picture(np.array([[-4.0]]))))
    assert body(pictures) == "Digits (on the page: --save)"
    assert [picture["most"] for picture in pictures.data()["pictures"]] == [4, 4]
    flat = Pictures("", (Picture(np.zeros(3), "x"),))
    raises(ValueError, r"the picture x has the shape \(3,\)", flat.data)


def test_control_characters_do_not_reach_the_terminal() -> None:
    evil = "a\x1b[2Jb\x07"
    matrix = Matrix("A", np.zeros((1, 1)), (evil,), (evil,))
    text = plain(of(Line((evil, "b"), (0.5, 0.5)), matrix, Text(evil)))
    assert "\x1b" not in text and "\x07" not in text and "a�[2Jb�" in text


def test_wide_letters_take_two_columns() -> None:
    assert width("猫cat") == 5 and width("e\u0301") == 1
    lines = body(Matrix("A", np.zeros((2, 1)), ("猫", "cats"))).splitlines()
    assert {width(line[: line.index("[")]) for line in lines[1:]} == {5}
    raises(ValueError, r"matrix A has the shape \(3,\)", lambda: Matrix("A", np.zeros(3)).data())


def test_a_page_escapes_names() -> None:
    matrix = Matrix(HTML, np.zeros((1, 1)), (HTML,), (HTML,))
    html = of(matrix, Line((HTML,), (1.0,)), Text(HTML)).page().html()
    assert HTML not in html and "\\u003cimg" in html


def test_a_lesson_is_saved_and_its_claims_decide_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_lesson(of(Checked("it holds", True)), tmp_path) == 0
    assert show_lesson(of(Checked("it holds", True), Checked("it fails", False)), None) == 1
    how = capsys.readouterr()
    assert "[WRONG] it fails" in how.out and how.err.count("wrote ") == 1 and (tmp_path / "test.html").exists()
    pytest.importorskip("vl_convert", reason="the extra viz brings it")
    chart = Chart("T", "d", "y", (Series("one", (1, 2), (3, 4)),))
    assert show_lesson(replace(of(chart), picture=chart), tmp_path) == 0
    assert (tmp_path / "test.svg").read_text() == chart.svg()


def test_blocks_without_a_lesson() -> None:
    blocks = show(Text("one"), Matrix("A", np.eye(2)))
    assert [block.data()["kind"] for block in blocks.sections[0].blocks] == ["text", "matrix"]
    assert repr(blocks).startswith("<blocks: ") and blocks.page().data["about"] == ""


def attention() -> Lesson:
    """The scores and weights of "I like cats", and a slider."""
    words = ("I", "like", "cats")
    q, k = np.array([[1.3, 0.8], [0.7, 3.5], [1.9, 0.1]]), np.array([[0.6, 2.4], [0.8, 1.7], [2.5, 0.3]])
    scaled = q @ k.T / 2**0.5
    weights = np.exp(scaled) / np.exp(scaled).sum(1, keepdims=True)
    how, of_row = softmax_told(scaled, 2, 3), (Mark("Q Kᵀ / √2", "row"),)
    return show(
        times(Matrix("Q", q, words, (), 1), Matrix("Kᵀ", k.T, (), words, 1), "Q Kᵀ", example=(1, 0)),
        Equation(
            Matrix("Q Kᵀ / √2", scaled, words, words),
            "→",
            Matrix("weights", weights, words, words, 3, "weights", how, of_row),
        ),
        Choice("scale", ("1", "2"), (Matrix("A", q), Matrix("B", k)), 0, True),
        Text("Text."),
    )


def test_fields_that_do_not_match_the_text(tmp_path: Path) -> None:
    (tmp_path / "a_b.md").write_text("# {A:g}\n\nAbout.\n\n## One\n\n{x:.1f}\n\n{none}\n\n## Two\n\n{left_out}")
    program, fields = {"__file__": f"{tmp_path}/a_b.py", "A": 1.5}, {"x": -0.25, "none": [], "left_out": None}
    lesson = told(program, **fields)
    assert lesson.name == "a-b" and lesson.title == "1.5" and lesson.sections == [Section("One", [Text("−0.2")])]
    raises(KeyError, "x", lambda: told(program, none=[], left_out=None))
    raises(ValueError, "has no other", lambda: told(program, **fields, other=1))


POINTS = np.array([[0.0, 0.0], [2.0, 1.0], [-2.0, -1.0], [1.9, 1.0]])
CODE = "node => node.dataset.code.split(' ').map(Number)"
ALPHA = """node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]
    .filter((_, i) => i % 4 === 3)"""


def network() -> nn.Sequential:
    mg.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 6), nn.Sigmoid())


def block(labels: tuple[str, ...] = ("a", "b", "c", "b"), title: str = "Codes") -> Plane:
    first, middle, last = (layer for layer in network() if isinstance(layer, nn.Linear))
    layers = [
        Dense(layer.weight.detach().numpy(), layer.bias.detach().numpy(), after)  # type: ignore[arg-type]
        for layer, after in ((first, "tanh"), (middle, ""), (last, "sigmoid"))
    ]
    pictures = np.linspace(0, 1, 24).reshape(4, 2, 3)
    return Plane(title, POINTS, labels, pictures, layers)


def decoded(code: list[float]) -> np.ndarray:
    """The decoder's output by minigrad, of shape (6,)."""
    return network()(mg.tensor([code])).detach().numpy()[0]


@pytest.mark.nightly
def test_the_code_under_the_pointer_is_decoded(opened: Callable[..., Any]) -> None:
    lesson = Lesson("plane", "A plane", "About it.", (Section("One", (block(),)),))
    page = opened(lesson.page(), color_scheme="dark", viewport={"width": 900, "height": 900})
    page.wait_for_selector(".plane canvas[data-code]")
    area = page.locator(".plane .map canvas")
    box = area.bounding_box()
    codes = []
    for across, up in ((0.1, 0.2), (0.5, 0.5), (0.9, 0.7)):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
        codes.append(area.evaluate(CODE))
        pixels = np.array(page.locator(".detail canvas").first.evaluate(ALPHA))
        np.testing.assert_allclose(pixels, 255 * decoded(codes[-1]), atol=0.51)
        code = [float(part) for part in texts(page, ".place")[0].replace("−", "-")[12:-1].split(",")]
        np.testing.assert_allclose(code, codes[-1], atol=0.0051)
    np.testing.assert_allclose(codes[1], [0, 0], atol=0.02)  # the middle of all points
    assert codes[0][0] < 0 < codes[0][1] and codes[2][0] > 0 > codes[2][1]
    distances = np.hypot(*(POINTS - codes[2]).T)
    assert texts(page, ".detail .quiet") == [f"nearest: a {'abcb'[int(distances.argmin())]}"]
    original = np.array(page.locator(".detail canvas").last.evaluate(ALPHA))
    np.testing.assert_allclose(original, 255 * block().pictures[distances.argmin()].ravel(), atol=0.51)
    assert all(contrast(page, f".keys button >> nth={n}") >= 4.5 for n in range(3))
    assert contrast(page, ".place") >= 4.5 and contrast(page, ".detail .quiet") >= 4.5


READY = "#lecture section"
EVIL = ['<img src=x onerror="alert(1)">', "</script><script>alert(2)</script>", "👩‍👩‍👧", "x" * 10_000]


def marked(page: Any, key: str) -> list[str]:
    """The highlighted cells of a matrix, as row and column."""
    read = """(nodes, key) => nodes.filter(node => node.dataset.key === key)
        .flatMap(node => [...node.querySelectorAll("td.marked")].map(cell => cell.dataset.cell))"""
    return page.eval_on_selector_all(".matrix", read, key)


def numbers(page: Any, key: str) -> np.ndarray:
    read = """(nodes, key) => [...nodes.find(node => node.dataset.key === key).querySelectorAll("tbody tr")]
        .map(row => [...row.querySelectorAll("td[data-cell]")].map(cell => cell.textContent))"""
    rows = page.eval_on_selector_all(".matrix", read, key)
    return np.array([[float(cell.replace("−", "-").replace("∞", "inf")) for cell in row] for row in rows])


@pytest.mark.nightly
def test_pointing_at_a_score(opened: Callable[..., Any]) -> None:
    page = opened(attention().page(), color_scheme="dark")
    figures = [[2.7, 2.4, 3.49], [8.82, 6.51, 2.8], [1.38, 1.69, 4.78]]
    np.testing.assert_allclose(numbers(page, "Q Kᵀ"), figures)
    page.hover('[data-key="Q Kᵀ"] [data-cell="1 0"]')
    assert "0.7 × 0.6 + 3.5 × 2.4 = 8.82" in texts(page, ".explanation")
    assert marked(page, "Q") == ["1 0", "1 1"] and marked(page, "Kᵀ") == ["0 0", "1 0"]
    assert texts(page, '[data-key="Q Kᵀ"] th.highlight') == ["I", "like"]
    page.hover('[data-key="weights"] [data-cell="2 1"]')
    assert marked(page, "Q Kᵀ / √2") == ["2 0", "2 1", "2 2"] and marked(page, "Q") == []
    assert "e1.20 / (e0.98 + e1.20 + e3.38) = 0.094" in texts(page, ".explanation")
    page.hover(".prose")
    assert page.locator(".marked").count() == 0
    assert "Q Kᵀ [like, I]: 0.7 × 0.6 + 3.5 × 2.4 = 8.82" in texts(page, ".explanation")  # the example
    assert contrast(page, ".explanation") >= 4.5 and contrast(page, ".matrix th") >= 4.5


@pytest.mark.nightly
def test_blocks_by_keyboard(opened: Callable[..., Any]) -> None:
    """On a page as wide as a phone: each focusable number shows how it was computed, and everything fits."""
    page = opened(attention().page(), viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    starts = page.locator('.explainable td[tabindex="0"]')
    assert starts.count() >= 2
    for cell in map(starts.nth, range(starts.count())):
        cell.focus()
        assert cell.evaluate("node => node.classList.contains('now')")
        assert cell.evaluate("node => node.closest('.explainable').querySelector('.explanation').textContent")
    before = page.locator(".choice").inner_html()
    page.locator(".choice input").press("ArrowRight")
    assert page.locator(".choice").inner_html() != before


@pytest.mark.nightly
def test_a_lesson_in_light_and_dark(opened: Callable[..., Any]) -> None:
    page, papers = opened(of(Text("Text.")).page()), set()
    for _ in range(2):
        page.click("#lecture .last button")  # light, dark
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert contrast(page, ".prose") >= 4.5 and contrast(page, ".about") >= 4.5
    assert len(papers) == 2


@pytest.mark.nightly
def test_a_chart_is_saved(opened: Callable[..., Any]) -> None:
    series = (Series("measured", (1, 10, 100), (1, 9, 101)), Series(EVIL[0], (1, 100), (1, 100), dashed=True))
    chart = Chart("Growth", "width", "variance", series, log_x=True, log_y=True)
    page = opened(Lesson("chart", "Chart", "", (Section("One", (chart,)),)).page())
    assert page.locator(".chart .title").all_text_contents() == ["Growth"]
    assert page.locator(".chart circle").count() == 3
    read = "nodes => nodes.map(node => Number(node.getAttribute('cx')))"
    places = page.eval_on_selector_all(".chart circle", read)
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    page.click(".chart summary")
    rows = page.locator(".chart details tr")
    assert [texts(rows.nth(i), "td") for i in (1, 2)] == [["1", "1.000", "1.000"], ["10", "9.000", ""]]
    with page.expect_download() as saved:
        page.click(".chart button")
    names = [node.text for node in ElementTree.parse(saved.value.path()).iter() if node.tag.endswith("}text")]
    assert EVIL[0] in names and "1,000" not in names and "100" in names


@pytest.mark.nightly
def test_text_is_escaped(opened: Callable[..., Any]) -> None:
    square = np.eye(4)
    message = Matrix("B", square, EVIL, EVIL, how=lambda i, j: EVIL[j], marks=(Mark(EVIL[0], "row"),))
    blocks = (
        Equation(Matrix(EVIL[0], square, EVIL, EVIL), EVIL[1], message),
        Line(EVIL, (0.1, 0.2, 0.9, 0.4), 1),
        Steps(EVIL, (EVIL,), code=(1,)),
        Pictures(EVIL[0], [Picture(square, text) for text in EVIL]),
        Text(" ".join(EVIL)),
        Choice(EVIL[0], EVIL, [Text(t) for t in EVIL]),
    )
    page = opened(Lesson("evil", EVIL[0], EVIL[1], (Section(EVIL[0], blocks),)).page())
    assert page.inner_text("h1") == page.title() == EVIL[0]
    page.hover('[data-key="B"] [data-cell="0 1"]')
    assert texts(page, "[data-example]") == [EVIL[1]] and marked(page, EVIL[0]) == ["0 0", "0 1", "0 2", "0 3"]
    assert texts(page, ".spelling") == EVIL and texts(page, ".asks .spelling") == [EVIL[1]]
    assert texts(page, ".pictures figcaption") == EVIL
    page.select_option("select", index=2)
    assert texts(page, ".choice .prose") == [EVIL[2]]
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
