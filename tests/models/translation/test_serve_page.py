"""The page in a real browser without a network: typing, clicking, pointing, and the display."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from minigrad_models.translation.serve.server import Server
from tests.support.browser import browser as browser, texts
from tests.support.translator import Reversing, served

playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
expect = playwright.expect
pytestmark = pytest.mark.nightly

HTML = '<img src=x onerror="document.title=1"> <script>document.title=2</script> <b>zebra</b>'
EVIL = "</script><svg/onload=document.title=3>"


@pytest.fixture
def server() -> Iterator[Server]:
    with served(Reversing()) as running:
        yield running


@pytest.fixture
def open_page(browser: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """Opens the page; at the end, checks that it made no external request and that no script failed."""
    outside: list[str] = []
    wrong: list[str] = []
    contexts = []

    def route(call: Any) -> None:
        if call.request.url.startswith(server.url):
            call.continue_()
        else:
            outside.append(call.request.url)
            call.abort()

    def console(message: Any) -> None:
        refusal = "Failed to load resource" in message.text  # the browser reports the status
        if message.type == "error" and not refusal:
            wrong.append(message.text)

    def opened(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        contexts[-1].route("**/*", route)
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        page.on("console", console)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(server.url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert outside == [] and wrong == []


def translate(page: Any, text: str) -> None:
    """Type a text, press Enter, and wait for the attention of its first sentence."""
    page.fill("#text", text)
    page.press("#text", "Enter")
    page.wait_for_selector("[data-state=done] #map tr")


def shown(page: Any) -> list[tuple[str, str, float]]:
    """(word, number, shade) of each word of the source line."""
    read = """nodes => nodes.map(node => [
        node.firstChild.textContent, node.lastChild.textContent,
        Number(node.firstChild.style.getPropertyValue("--weight"))])"""
    return [tuple(word) for word in page.eval_on_selector_all("#source [data-word]", read)]


def shades(page: Any) -> list[float]:
    """The opacity of each source word's background; 1 is the strongest with readable text."""
    strongest = page.evaluate("parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--strongest'))")
    read = "nodes => nodes.map(node => getComputedStyle(node).backgroundColor)"
    colours = page.eval_on_selector_all("#source .spelling", read)
    assert all("/" in colour or colour.startswith("color(srgb") for colour in colours), colours
    opacities = [float(colour.split("/")[1].strip(" )")) if "/" in colour else 1.0 for colour in colours]
    return [opacity / (strongest / 100) for opacity in opacities]


def weights(
    source: str, target: str, words: list[list[int]], row: list[int], layer: Any = slice(None), head: Any = slice(None)
) -> np.ndarray:
    """The attention of a target word (its tokens: row) to source words, computed from the translator's answer."""
    matrix = Reversing().attention(source, target).weights[layer, head].mean((0, 1))
    return np.array([matrix[row][:, columns].sum(1).mean() for columns in words])


def check(page: Any, expected: np.ndarray) -> None:
    """Check that the source's shades and numbers are these weights."""
    words = shown(page)
    np.testing.assert_allclose([shade for _, _, shade in words], expected, atol=2e-4)
    np.testing.assert_allclose(shades(page), expected, atol=6e-3)  # the browser's colours
    for (_, number, _), weight in zip(words, expected, strict=True):
        assert abs(float(number or 0) - 100 * weight) < 0.55 and (number or weight < 0.006)


SOURCE, TARGET = "my tomatoes are red", "red are tomatoes my"
SOURCE_WORDS = [[0], [1, 2], [3], [4], [5]]


def test_from_an_empty_page_to_a_translation(open_page: Callable[..., Any]) -> None:
    page = open_page()
    expect(page).to_have_title("English to Italian")
    assert page.inner_text("#about") == "a transformer of 1,100 parameters"
    assert page.is_visible("#empty") and page.is_disabled("#go") and not page.is_visible("#result")
    page.keyboard.type(SOURCE)  # the field is focused at the start
    assert page.is_enabled("#go")
    page.click("#go")
    page.wait_for_selector("#map tr")
    assert not page.is_visible("#empty") and not page.is_visible("#error") and not page.is_visible("#whole")
    assert texts(page, "#target") == [TARGET + " end"] and page.inner_text("#target-label") == "Italian"
    assert texts(page, "#source .spelling") == [*SOURCE.split(), "end"]
    assert page.get_attribute("#target", "lang") == "it" and page.get_attribute("#source", "lang") == "en"


def test_the_beam_and_its_differences(open_page: Callable[..., Any]) -> None:
    page = open_page()
    translate(page, SOURCE)
    assert texts(page, "#list .text") == [TARGET, *(f"{TARGET} {i}" for i in range(1, 5))]
    assert texts(page, "#list .score") == ["−0.50", "−1.50", "−2.50", "−3.50", ""]
    assert texts(page, "#list .changed") == ["1", "2", "3", "4"]
    page.click("#list button >> nth=2")
    expect(page.locator("#target .end")).to_be_visible()
    expect(page.locator("#target")).to_have_text(f"{TARGET} 2 end")
    page.hover("#target .word >> nth=4")
    check(page, weights(SOURCE, f"{TARGET} 2", SOURCE_WORDS, [5]))
    page.select_option("#beam", label="3")
    expect(page.locator("#list li")).to_have_count(3)
    page.select_option("#beam", label="1")
    expect(page.locator("#hypotheses")).to_be_hidden()


SAMPLES = (SOURCE, "one <b>two</b>")


@pytest.fixture
def trained(server: Server) -> Server:
    server.translator = Reversing(sentences=SAMPLES, words="the are tomatoes two tomato three <b>bold</b>")
    return server


def test_it_opens_with_a_sentence_translated(open_page: Callable[..., Any], trained: Server) -> None:
    page = open_page()
    page.wait_for_selector("[data-state=done] #map tr")
    assert page.input_value("#text") == SOURCE and texts(page, "#target") == [TARGET + " end"]
    assert page.locator("#list li").count() == 5 and texts(page, "#samples .chip") == list(SAMPLES)
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("one two")  # the sentence is selected, so typing replaces it
    page.keyboard.press("Enter")
    expect(page.locator("#target")).to_have_text("two one end")
    page.click("#samples .chip >> nth=1")
    expect(page.locator("#target")).to_have_text("<b>two</b> one end")
    assert page.input_value("#text") == SAMPLES[1]


def test_known_words(open_page: Callable[..., Any], trained: Server) -> None:
    page = open_page()
    page.wait_for_selector("[data-state=done] #map tr")
    assert texts(page, "#words .chip") == ["the", "are", "tomatoes", "two", "tomato", "three", "<b>bold</b>"]
    page.fill("#text", "my To")
    assert texts(page, "#words .label") == ["Words it knows with “To”"]
    assert texts(page, "#words .chip") == ["tomatoes", "tomato"]
    page.click("#words .chip >> nth=1")
    assert page.input_value("#text") == "my tomato " and page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("xy")
    assert page.locator("#words .chip").count() == 0 and page.inner_text("#words").endswith("None begins with “xy”.")


def test_pointing_at_a_word_shades_the_source_and_the_map_holds_all_weights(open_page: Callable[..., Any]) -> None:
    page = open_page()
    translate(page, SOURCE)
    assert all(number == "" and shade == 0 for _, number, shade in shown(page))
    assert texts(page, "#map thead th") == [*SOURCE.split(), "end"]
    assert texts(page, "#map tbody th") == [*TARGET.split(), "end"]
    for word, row in enumerate([[0], [1], [2, 3], [4], [5]]):
        expected = weights(SOURCE, TARGET, SOURCE_WORDS, row)
        page.hover(f"#target .word >> nth={word}")
        check(page, expected)
        active = ["red", "are", "tomatoes", "my", "end"][word]
        assert texts(page, "#target .active") == [active] and texts(page, "#map .active th") == [active]
        assert page.inner_text("#status").startswith(f"For “{active}” the model looked at “")
        for number, w in zip(texts(page, f"#map tbody tr:nth-child({word + 1}) td"), expected, strict=True):
            assert abs(float(number) - 100 * w) < 0.55 if number else w < 0.051
    page.hover("#text")
    assert all(number == "" and shade == 0 for _, number, shade in shown(page))
    page.hover("#map tbody tr:nth-child(3) td >> nth=1")
    check(page, weights(SOURCE, TARGET, SOURCE_WORDS, [2, 3]))


def test_layers_heads_and_tokens(open_page: Callable[..., Any]) -> None:
    page = open_page()
    translate(page, SOURCE)
    page.click("#target .word >> nth=2")
    assert texts(page, "#layer option") == ["mean", "1", "2"]
    assert texts(page, "#head option") == ["mean", "1", "2", "3"]
    page.select_option("#layer", label="2")
    check(page, weights(SOURCE, TARGET, SOURCE_WORDS, [2, 3], layer=slice(1, 2)))
    page.select_option("#head", label="1")
    check(page, weights(SOURCE, TARGET, SOURCE_WORDS, [2, 3], layer=slice(1, 2), head=slice(0, 1)))
    page.select_option("#layer", label="mean")
    check(page, weights(SOURCE, TARGET, SOURCE_WORDS, [2, 3], head=slice(0, 1)))
    page.check("#pieces")
    assert texts(page, "#target .word") == ["red", "are", "toma", "toes", "my", "end"]
    assert page.inner_text("#target") == TARGET + " end"
    check(page, weights(SOURCE, TARGET, [[i] for i in range(6)], [2], head=slice(0, 1)))
    translate(page, "one two")  # all tokens are words: no choice; the head stays selected
    assert not page.is_visible("#pieces-choice") and page.input_value("#head") == "0"


def test_by_keyboard(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.keyboard.type("one two")
    page.keyboard.press("Shift+Enter")
    assert page.input_value("#text") == "one two\n" and page.is_visible("#empty")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-state=done] #map tr")
    focused = "document.activeElement.textContent"
    for _ in range(3):  # the button, the beam, the first word
        page.keyboard.press("Tab")
    assert page.evaluate(focused) == "two"
    columns = [[0], [1], [2]]
    check(page, weights("one two", "two one", columns, [0]))
    for key, word in (("ArrowRight", 1), ("End", 2), ("ArrowRight", 2), ("ArrowLeft", 1), ("Home", 0)):
        page.keyboard.press(key)
        check(page, weights("one two", "two one", columns, [word]))
    page.keyboard.press("Escape")
    assert all(shade == 0 for *_, shade in shown(page)) and texts(page, "#target .active") == []
    page.keyboard.press("Enter")
    assert texts(page, "#target .active") == ["two"]
    page.keyboard.press("Tab")  # one tab stop for all words; the selection stays
    assert page.evaluate("document.activeElement.className") == "hypothesis"
    check(page, weights("one two", "two one", columns, [0]))


def test_a_text_of_many_sentences(open_page: Callable[..., Any]) -> None:
    page = open_page()
    translate(page, "One two. Three zebra\n\nfive")
    assert texts(page, "#sentences p") == ["two. One zebra Three", "five"]
    assert page.inner_text("#target-label") == "Sentence 1 of 3" and not page.is_visible("#notes")
    page.click("#sentences button >> nth=1")
    expect(page.locator("#source .spelling").first).to_have_text("Three")
    assert page.inner_text("#target-label") == "Sentence 2 of 3"
    assert texts(page, "#notes li") == ["The model has never seen: zebra"]
    page.hover("#target .word >> nth=0")
    check(page, weights("Three zebra", "zebra Three", [[0, 1], [2, 3], [4]], [0, 1]))


def test_html_is_escaped(open_page: Callable[..., Any]) -> None:
    page = open_page()
    before = page.title()
    translate(page, f"{HTML} {EVIL}")
    reversed_ = " ".join(reversed(f"{HTML} {EVIL}".split()))
    assert texts(page, "#list .text")[0] == reversed_
    assert page.inner_text("#target") == reversed_ + " end"
    page.hover("#target .word >> nth=0")
    injected = "document.querySelectorAll('main img, main script, main svg, main b').length"
    assert page.evaluate(injected) == 0 and page.title() in (before, "English to Italian")


def test_while_it_translates_and_when_the_server_fails(open_page: Callable[..., Any], server: Server) -> None:
    page = open_page()
    translate(page, "one two")
    with server.translator.busy:  # as if another translation were running
        page.fill("#text", "three four")
        page.press("#text", "Enter")
        page.wait_for_selector("[data-state=loading]")
        assert page.inner_text("#go") == "Translating…" and page.get_attribute("main", "aria-busy") == "true"
        page.fill("#text", "five six")  # the newest text wins
        page.press("#text", "Enter")
    expect(page.locator("#target")).to_have_text("six five end")
    for text, message in (("x" * 70_000, "the limit is 65,536"), ("a bug", "its terminal shows the error")):
        page.fill("#text", text)
        page.press("#text", "Enter")
        page.wait_for_selector("#error:visible")
        assert message in page.inner_text("#error") and not page.is_visible("#result")
        translate(page, "one two")
        assert not page.is_visible("#error")
    page.route("**/translate", lambda call: call.abort())
    page.press("#text", "Enter")
    page.wait_for_selector("#error:visible")
    assert "Is its program still running?" in page.inner_text("#error")
