"""Pages: names are escaped, nothing is requested, data arrive unchanged, and colours have enough contrast."""

import html
import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.viz import page as page_module
from minigrad.viz.page import Page, asset, written
from minigrad.viz.palette import DARK, LIGHT, luminance
from minigrad_models.viz import embedding
from minigrad_models.viz.texts import label
from tests.support.browser import contrast, wait_for
from tests.support.cases import raises

EVIL = ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\"quoted\" & 'single'", "x" * 10_000]
EVIL += ["a\u2028b\u2029c\nd\0e", "👩‍👩‍👧 naïve \u202e", "half \ud83d of a pair", "<img src=x onerror=alert(2)>"]
ASSETS = Path(page_module.__file__).parent / "assets"
LETTERS = "async () => (await viz.data()).names.map((text) => [...text].map((c) => c.codePointAt(0)))"


class Parts(HTMLParser):
    """The tags of a file, and the texts of its title and data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.at = ""
        self.tags: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.at = "data" if ("id", "data") in attrs else tag

    def handle_data(self, data: str) -> None:
        self.text[self.at] = self.text.get(self.at, "") + data


def test_text_is_escaped() -> None:
    head, body = ["meta", "meta", "meta", "title", "style", "style"], ["noscript", "script", "script"]
    for text in EVIL:
        page = Page(text, {"name": text, text: [text]}).html()
        parts = Parts(page)
        assert parts.tags == ["html", "head", *head, "body", *body], text
        assert json.loads(parts.text["data"]) == {"name": text, text: [text]}
        assert parts.text["title"].strip() == re.sub("[\ud800-\udfff]", "\ufffd", text).strip()
        assert "</" not in parts.text["data"] and "<!" not in parts.text["data"]
        page.encode()  # no lone surrogates
    data = {"a": [math.nan, math.inf, -math.inf, 1.5], "b": (np.float64("nan"), 2), 3: None, "c": True}
    numbers = {"a": ["NaN", "Infinity", "-Infinity", 1.5], "b": ["NaN", 2], "3": None, "c": True}  # JSON has no NaN
    assert json.loads(Parts(Page("t", data).html()).text["data"]) == numbers
    raises(TypeError, "not JSON serializable", lambda: Page("t", {"a": object()}).html())
    much = Page("t", {"values": ["naïve"] * page_module.PACK_BYTES}).html()
    assert 'type="application/json+deflate"' in much and len(much) < 100_000


def test_the_policy_allows_only_the_pages_own_content() -> None:
    page = Page("t", {}, ("attention.js",), ("attention.css",)).html()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data: blob:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"  # default-src does not cover these
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", rules["script-src"])
    assert rules["script-src"] not in Page("t", {}, ("embedding.js",)).html()
    assert not re.findall(r"https?://(?!www\.w3\.org/)", page)
    framed = Page('a "b" \ud800 <c>', {"x": 1}, height=321)
    iframe = framed.framed()  # in a notebook it has a separate origin
    sandbox = 'sandbox="allow-scripts allow-downloads"'
    assert re.search(rf'<iframe class="[\w-]+" srcdoc="[^"]*" {sandbox} style="[^"]*height:321px', iframe)
    assert html.unescape(re.findall(r'srcdoc="([^"]*)"', iframe)[0]) == framed.html()


def test_saving_is_atomic(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    page = Page("t", {"x": "\ud800"})
    assert written(str(path), page.html()) == path and path.read_bytes().decode() == page.html()
    raises(TypeError, None, lambda: written(path, Page("t", object()).html()))
    assert path.read_bytes().decode() == page.html() and [p.name for p in tmp_path.iterdir()] == ["a.html"]
    raises(FileNotFoundError, r"the folder does not exist.*nowhere", lambda: written(tmp_path / "nowhere" / "a", "x"))
    raises(OSError, "directory", lambda: written(tmp_path, "x"))
    assert written(tmp_path / "b", "a\r\nb\n").read_bytes() == b"a\r\nb\n"


def declared(theme: str) -> dict[str, str]:
    """The colours of a theme."""
    text = asset("dark.css" if theme == "dark" else "base.css")
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))


def channels(colour: str) -> list[int]:
    """The red, green and blue of "#rrggbb"."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def apart(a: str, b: str) -> float:
    """The contrast of two colours (WCAG 2.2)."""
    low, high = sorted(luminance(channels(colour)) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_pages_and_pictures_have_the_same_readable_colours() -> None:
    inks = ["ink", "quiet", "accent", "plus", "minus", "forward", "backward", "wrong"]
    for theme, palette in (("light", LIGHT), ("dark", DARK)):
        colours = declared(theme)
        assert colours.keys() == declared("light").keys()
        for name in ("ink", "quiet", "line", "accent", "plus", "minus", "wrong"):
            assert colours[name] == getattr(palette, name), name
        assert tuple(colours[f"series-{i}"] for i in range(8)) == palette.series
        assert "series-8" not in colours and palette.nth(9) == palette.series[1]
        for ink in (*inks, *(f"series-{i}" for i in range(8))):
            assert min(apart(colours[ink], colours[paper]) for paper in ("paper", "field")) >= 4.5, (theme, ink)
        assert apart(colours["on-accent"], colours["accent"]) >= 4.5
        paper, accent = np.array(channels(palette.paper)), np.array(channels(palette.accent))
        for opacity in np.linspace(0, 1, 201).tolist():  # any shade
            shade = "#" + "".join(f"{round(c):02x}" for c in (paper + opacity * (accent - paper)).tolist())
            assert apart(palette.on_accent(opacity), shade) >= 4.5
    assert luminance([255, 255, 255]) == pytest.approx(1) and apart("#000000", "#ffffff") == pytest.approx(21)


def test_styles_follow_the_kit() -> None:
    """Colours are variables, and nothing moves by itself."""
    styles = {path.name: path.read_text(encoding="utf-8") for path in ASSETS.glob("*.css")}
    for name in styles.keys() - {"base.css", "dark.css"}:
        assert not re.search(r":[^;{}]*#[0-9a-f]{3}|\b(rgb|hsl)a?\(", styles[name]), f"{name}: a colour"
    for name, text in styles.items():
        assert not re.search(r"\b(transition|animation|scroll-behavior)\b", text), f"{name}: it moves"


@pytest.mark.parametrize("compressed", [False, True])
def test_data_arrive_unchanged(
    compressed: bool, open_file: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "PACK_BYTES", 0 if compressed else math.inf)
    evil = Page("".join(EVIL), {"names": EVIL, "numbers": [math.nan, -math.inf, 0.1, 2**53, -0.0]})
    assert ('json+deflate"' in evil.html()) == compressed
    page = open_file(written(tmp_path / "a.html", evil.html()))
    assert ["".join(map(chr, letters)) for letters in page.evaluate(LETTERS)] == EVIL
    numbers = page.evaluate("async () => (await viz.data()).numbers.map(viz.number).map(String)")
    assert numbers == ["NaN", "-Infinity", "0.1", "9007199254740992", "0"]
    blank = ["", " ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", " \n", "\u2028", "x" * 25, "😀" * 30]
    assert page.evaluate("texts => texts.map((text) => viz.short(text))", blank) == list(map(label, blank))


ATTEMPTS = """async () => {
    window.seen = new Set();
    const made = (name, attributes) => Object.assign(document.createElement(name), attributes);
    const away = "http://127.0.0.1:9/x";
    document.addEventListener("securitypolicyviolation", (event) => seen.add(event.effectiveDirective));
    await fetch(away).catch(() => {});
    try { new XMLHttpRequest().open("GET", away); new WebSocket("ws://127.0.0.1:9/"); } catch {}
    try { new EventSource(away); } catch {}
    navigator.sendBeacon(away, "x");
    try { new Worker("data:text/javascript,1"); } catch {}
    await document.fonts.add(new FontFace("f", `url(${away})`)).load().catch(() => {});
    const box = made("div", { innerHTML: `
        <b onclick="window.ran = 1">b</b><img src=x onerror="window.ran = 2">
        <a href="javascript:window.ran = 3">a</a><iframe srcdoc="<script>parent.ran = 4</script>"></iframe>
        <form action="${away}"><button>c</button></form><base href="${away}">
        <style>@import "${away}"; div { background: url(${away}) }</style>` });
    document.body.append(
        box, made("script", { textContent: "window.ran = 5" }), made("script", { src: away }),
        made("iframe", { src: away }), made("object", { data: away }), made("video", { src: away }),
        made("link", { rel: "stylesheet", href: away }), made("link", { rel: "manifest", href: away }));
    for (const name of ["b", "a", "button"]) box.querySelector(name).click();
}"""
FORBIDDEN = [
    *("connect-src", "img-src", "font-src", "media-src", "object-src", "frame-src", "style-src-elem"),
    *("script-src-elem", "script-src-attr", "base-uri", "form-action", "worker-src"),
]
# eval is allowed in Playwright's evaluate, but must be forbidden in the page's own scripts.
LATER = """addEventListener("load", () => setTimeout(() => {
    try { eval("window.ran = 6"); } catch {}
    try { new Function("window.ran = 7")(); } catch {}
    window.tried = true;
}, 10))"""


def test_nothing_is_fetched_and_no_other_script_runs(open_file: Callable[..., Any], tmp_path: Path) -> None:
    page = open_file(written(tmp_path / "a.html", Page("t", {}).html()), first=LATER)
    wait_for(page, "window.tried")
    page.evaluate(ATTEMPTS)
    wait_for(page, "rules => rules.every((rule) => seen.has(rule))", FORBIDDEN)
    assert page.evaluate("[window.ran ?? null, document.baseURI]") == [None, page.url]
    wrong = open_file.wrong  # type: ignore[attr-defined]  # what the fixture saw, and would complain of
    # Playwright also reports requests that the policy blocked: each has an error in the console.
    assert all("Content Security Policy" in text or text.startswith("request: ") for text in wrong), wrong
    wrong.clear()


def test_themes_and_paper(open_file: Callable[..., Any], tmp_path: Path) -> None:
    body = '<div class="bar"><h1>Name</h1><button>press</button></div><p class="quiet">a</p><p class="wrong">b</p>'
    page = open_file(written(tmp_path / "a.html", Page("t", {}, body=body).html()), color_scheme="light")
    for scheme, palette in (("light", LIGHT), ("dark", DARK)):  # as the system's theme
        page.emulate_media(color_scheme=scheme)
        wait_for(page, f"viz.theme.get() === '{scheme}'")
        assert page.evaluate("viz.colour('ink')") == palette.ink
        assert all(contrast(page, selector) >= 4.5 for selector in (".quiet", ".wrong", "body"))
        ends = page.evaluate("[0, 1].map((part) => viz.onAccent(part))")
        assert ends == [palette.on_accent(0), palette.on_accent(1)]
        if scheme == "light":
            page.keyboard.press("Tab")  # the focus stays
        style = "(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])"
        assert page.evaluate(f"{style}(getComputedStyle(document.querySelector(':focus')))") == ["solid", "2px"]
        assert contrast(page, ":focus", "outlineColor") >= 3
    page.evaluate("addEventListener('beforeprint', () => { window.printed = viz.theme.get(); })")
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("[printed, viz.theme.get()]") == ["light", "dark"]
    page.emulate_media(media="print")
    assert contrast(page, "body") > 15 and page.is_visible("h1") and not page.is_visible("button")


def test_a_damaged_page_says_so(open_file: Callable[..., Any], tmp_path: Path) -> None:
    path = embedding(np.eye(2), ["x" * page_module.PACK_BYTES, "y"]).save(tmp_path / "a.html")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('id="data">eN', 'id="data">eM'), encoding="utf-8")
    page = open_file(path)
    page.wait_for_selector("#unreadable")
    assert page.inner_text("#unreadable") == "This page is damaged: what it shows cannot be read."
    assert open_file.wrong.pop().startswith("script: ") and not open_file.wrong  # type: ignore[attr-defined]


HEAT = """([values, most, side]) => {
    window.hovers = [];
    const canvas = viz.heat({
        rows: values.length, columns: values[0].length, value: (i) => values.flat()[i] ?? NaN, most, side,
        label: "a & b", onHover: (...cell) => window.hovers.push(cell),
    });
    document.body.replaceChildren(canvas);
}"""
PIXELS = """node => [...node.getContext("2d").getImageData(0, 0, node.width, node.height).data]"""


def test_heat_maps(open_file: Callable[..., Any], tmp_path: Path) -> None:
    page = open_file(written(tmp_path / "a.html", Page("t", {}).html()), color_scheme="light")
    page.evaluate(HEAT, [[[2.0, -1.0, 0.0], [None, -8.0, 0.5]], 2.0, 10])

    def seen() -> Any:
        return np.reshape(page.eval_on_selector("canvas.heat", PIXELS), (-1, 4)).tolist()

    plus, minus, quiet = (channels(colour) for colour in (LIGHT.plus, LIGHT.minus, LIGHT.quiet))
    cells = seen()
    assert cells[0] == [*plus, 255] and cells[4] == [*minus, 255] and cells[3] == [*quiet, 255]
    assert [cell[3] for cell in cells] == [255, 128, 0, 255, 255, 64]
    np.testing.assert_allclose(cells[1][:3], minus, atol=2)  # half transparent: the browser rounds
    box = page.locator("canvas.heat").bounding_box()
    assert round(box["width"]) in (30, 32) and page.get_attribute("canvas.heat", "aria-label") == "a & b"
    page.hover("canvas.heat", position={"x": 15, "y": 15})
    assert page.evaluate("hovers.at(-1)") == [1, 1, -8.0]
    page.mouse.move(300, 300)
    assert page.evaluate("hovers.at(-1)") == [None]
    page.evaluate("viz.theme.set('dark')")
    assert seen()[0] == [*channels(DARK.plus), 255]
    page.evaluate(HEAT, [[[0.0, 0.0]], 0.0, None])  # only zeros
    assert [cell[3] for cell in seen()] == [0, 0]
