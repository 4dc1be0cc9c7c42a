"""Accessibility with a keyboard, a screen reader, or a narrow screen: axe-core's rules, focus, names."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from docs.web.node import MODULES

from .conftest import until

Visit = Callable[..., Any]
DOCUMENTS = (
    "index.html",
    "course/index.html",
    "course/08_attention.html",
    "reference/minigrad.profiler.html",
    "gallery.html",
    "how_it_works.html",
    "translator.html",
)
PLAYGROUND = "playground.html"
TRANSLATOR = "translator_page/index.html"
WIDE, MIDDLE, NARROW = ({"width": width, "height": 800} for width in (1280, 820, 390))
STILL = {"viewport": WIDE, "reduced_motion": "reduce"}  # colours cannot be checked during transitions

ALL = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]}
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}  # the dark theme changes only colours
SHAPES = {**ALL, "rules": {rule: {"enabled": False} for rule in COLOURS["runOnly"]}}  # these depend on the width
VIOLATIONS = """async (rules) => {
  const { violations } = await axe.run(document, { ...rules, iframes: false, resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary.replace(/\\s+/g, " ")}`));
}"""
SETTLED = "!document.getAnimations().some((one) => one instanceof CSSTransition && one.playState === 'running')"
# The first lines of a long listing are enough, as they have every kind of token and checking takes time.
SHORTER = "document.querySelectorAll('.listing .line:nth-of-type(n + 50)').forEach((line) => line.remove())"
NEEDS_NAME = {"button", "checkbox", "combobox", "Iframe", "link", "listbox", "radio", "slider", "spinbutton", "tab"}
NEEDS_NAME |= {"searchbox", "switch", "textbox"}


def violations(page: Any, rules: dict[str, Any] = ALL) -> list[str]:
    """The violations of rules on the page and in its visible frames, each checked separately, since some frames
    cannot access the page."""
    lines = []
    until(page, SETTLED)
    for frame in page.frames:
        if frame != page.main_frame and not frame.frame_element().is_visible():
            continue
        if not frame.evaluate("'axe' in window"):
            frame.evaluate((MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
        place = "page" if frame == page.main_frame else f"frame {frame.frame_element().get_attribute('title')!r}"
        lines += [f"{place}: {line}" for line in frame.evaluate(VIOLATIONS, rules)]
    return lines


def wrong_in_all_looks(page: Any, what: str) -> list[str]:
    """The violations of rules in light, in dark, and on a narrow screen; afterwards the page is reset."""
    lines = [f"{what}: {line}" for line in violations(page)]
    page.emulate_media(color_scheme="dark")
    until(page, "!document.body.dataset.mdColorScheme || document.body.dataset.mdColorScheme === 'slate'")
    lines += [f"{what}, dark: {line}" for line in violations(page, COLOURS)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(NARROW)
    lines += [f"{what}, narrow: {line}" for line in violations(page, SHAPES)]
    page.set_viewport_size(WIDE)
    return lines


def nameless(page: Any) -> list[str]:
    """Buttons, inputs, frames and other controls that the browser exposes to screen readers without a name."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in NEEDS_NAME]
    assert controls
    elements = [
        session.send("DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]})["node"]
        for node in controls
        if not node["name"]["value"].strip()
    ]
    session.detach()
    return [f"{element['localName']} {element['attributes']}" for element in elements]


def too_wide(page: Any) -> list[str]:
    """The window widths at which the page scrolls horizontally."""
    overflows = []
    for size in (NARROW, MIDDLE, WIDE):
        page.set_viewport_size(size)
        if (width := page.evaluate("document.documentElement.scrollWidth")) > size["width"]:
            overflows.append(f"{width} px at {size['width']}")
    return overflows


def assert_nothing(wrong: list[str], page: Any) -> None:
    """Check that there are no violations, unnamed controls, or pages that are too wide; report all together."""
    wrong = [
        *wrong,
        *(f"no name: {what}" for what in nameless(page)),
        *(f"too wide: {what}" for what in too_wide(page)),
    ]
    assert not wrong, "\n".join(wrong)


def opened(visit: Visit) -> Any:
    """The playground, with Python started."""
    page = visit(PLAYGROUND, **STILL)
    until(page, "window.playground?.state.textContent === 'ready'")
    return page


def run(page: Any, tab: str | None = None) -> None:
    """Run the playground's program, and then draw the content of a tab."""
    page.locator(".play button.main").click()
    until(page, "!window.playground.runner.busy && window.playground.runs > 0")
    if tab:
        page.click(f"#tab-{tab}")
        page.locator(f"#panel-{tab} iframe").wait_for()
        until(page, "!window.playground.runner.busy")
        page.frame_locator(f"#panel-{tab} iframe").locator("g.box").first.wait_for()


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents(path: str, visit: Visit) -> None:
    page = visit(path, **STILL)
    until(page, "document.readyState === 'complete'")
    page.evaluate(SHORTER)
    assert_nothing(wrong_in_all_looks(page, path), page)


def test_the_playground(visit: Visit) -> None:
    page = opened(visit)
    wrong = violations(page)
    run(page)
    wrong += wrong_in_all_looks(page, "Output")
    run(page, "graph")
    wrong += wrong_in_all_looks(page, "Graph")
    assert len([frame for frame in page.frames if frame.evaluate("'axe' in window")]) == 2  # including the graph's
    assert_nothing(wrong, page)


# Words and numbers get shades of all weights, not only of the weights in this sentence.
SHADES = """for (const kind of [".weight", ".spelling"])
  document.querySelectorAll(kind).forEach((one, i, all) => one.style.setProperty("--weight", i / (all.length - 1)))"""


def test_the_translator(visit: Visit) -> None:
    page = visit(TRANSLATOR, **STILL)
    until(page, "document.querySelector('#samples').children.length > 0")
    wrong = violations(page)
    page.fill("#text", "I love you very much.")
    page.click("#go")
    page.locator("#target [data-word]").first.click()
    page.evaluate(SHADES)
    page.click("#linked")
    page.frame_locator("#graph-place iframe").locator("iframe").first.wait_for()
    wrong += wrong_in_all_looks(page, "attention")
    assert_nothing(wrong, page)


REMEMBER = """() => {
  const element = document.activeElement;
  // What a person sees of it: of the switch of colours the button beside it, of the editor its frame.
  const seen = element.matches(".md-option") ? element.nextElementSibling : element.closest(".cm-editor") ?? element;
  const look = () => {
    const { outlineStyle, outline, border, boxShadow } = getComputedStyle(seen);
    return [outlineStyle === "none" ? "" : outline, border, boxShadow].join();
  };
  (window.stops ??= []).push({ element, look, focused: look() });
  const { left, top, right, bottom } = seen.getBoundingClientRect();
  const name = element.ariaLabel || element.textContent.trim();
  return { name, box: { left, top, right, bottom }, own: Boolean(element.closest(".play")) };
}"""
TO_THE_TOP = """() => {
  const top = Object.assign(document.createElement("span"), { tabIndex: -1 });
  document.body.prepend(top);
  top.focus();
}"""
UNSEEN = """() => {
  document.activeElement.blur();
  return window.stops.filter(({ look, focused }) => look() === focused).map(({ element }) => element.outerHTML);
}"""


def walk(page: Any, steps: int) -> list[dict[str, Any]]:
    """The elements that pressing Tab several times reaches."""
    stops = []
    for _ in range(steps):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(REMEMBER))
    return stops


def is_after(box: dict[str, float], before: dict[str, float]) -> bool:
    """Whether a box follows another one when reading from left to right and from top to bottom."""
    return box["top"] >= before["bottom"] or box["left"] >= before["right"]


def test_tab_follows_the_reading_order_of_the_playground(visit: Visit) -> None:
    page = opened(visit)
    page.set_viewport_size(NARROW)
    run(page, "graph")
    page.evaluate(TO_THE_TOP)
    stops: list[dict[str, Any]] = []
    while not stops or stops[-1]["name"] != "Python program":
        stops += walk(page, 1)
        assert len(stops) < 30, [stop["name"] for stop in stops]
    header = [stop["name"] for stop in stops if not stop["own"]]
    assert header[0] == "Skip to content"
    page.keyboard.press("Escape")  # otherwise Tab would indent
    stops += walk(page, 3)
    own = [stop for stop in stops if stop["own"]]
    names = ["Example", "Run", "Link", ".py", ".ipynb", "Python program", "Graph", "What Graph shows", "Show"]
    assert [stop["name"] for stop in own] == names
    for before, stop in pairwise(own):
        assert is_after(stop["box"], before["box"]), (before, stop)
    assert page.evaluate(UNSEEN) == []
