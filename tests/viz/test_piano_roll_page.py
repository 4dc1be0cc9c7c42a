"""The page of a piano roll in Chromium: it draws, scrolls, plays what stands there, and shows what a note looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad.music.notes import Note
from minigrad.viz.palette import DARK, LIGHT, rgb
from minigrad.viz.piano_roll import PianoRoll, piano_roll
from tests.support.browser import texts, wait_for
from tests.viz.test_piano_roll import HTML, TUNE, many, weights

Opened = Callable[..., Any]


@pytest.fixture
def opened(open_file: Opened, tmp_path: Path) -> Opened:
    def open_view(view: PianoRoll, **options: Any) -> Any:
        page = open_file(view.save(tmp_path / "a.html"), **options)
        wait_for(page, "roll.size?.wide > 0 && !roll.waiting")
        return page

    return open_view


def middle(page: Any, note: int) -> tuple[float, float]:
    """The middle of a note, in the window's pixels."""
    box = page.locator("#roll .notes").bounding_box()
    x, y, w, h = page.evaluate(f"rollDrawing.box({note})")
    return box["x"] + x + w / 2, box["y"] + y + h / 2


PIXEL = """([canvas, note]) => {
    const [x, y, w, h] = rollDrawing.box(note), ratio = devicePixelRatio;
    return [...roll[canvas].getContext("2d").getImageData((x + w / 4) * ratio, (y + h / 2) * ratio, 1, 1).data];
}"""


# What is drawn --------------------------------------------------------------------------------------------


def test_notes_have_the_colours_of_their_tracks(opened: Opened) -> None:
    page = opened(piano_roll(TUNE, title=HTML, tracks=[HTML, "</script><script>alert(1)</script>"]))
    for palette in (LIGHT, DARK):
        page.evaluate(f"viz.theme.set('{'light' if palette is LIGHT else 'dark'}')")
        wait_for(page, "!roll.waiting")
        for note in range(len(TUNE)):
            *colour, alpha = page.evaluate(PIXEL, ["back", note])
            assert abs(alpha - 255 * (0.3 + 0.7 * TUNE[note].velocity / 127)) < 16  # a band may lie below it
            np.testing.assert_allclose(colour, rgb(palette.nth(TUNE[note].track)), atol=14)
    assert page.inner_text("h1") == page.title() == HTML and texts(page, "[role=switch]")[0].startswith(HTML[:20])
    assert "4 notes, 0:04" in page.inner_text("#roll")
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0


def test_it_fits_every_width(opened: Opened) -> None:
    view = piano_roll(many(400), attention=weights(400, 1, 2), tempo=90, tracks=["soprano", "alto", "bass"])
    for width in (1400, 390):
        page = opened(view, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = """nodes => nodes.map((node) => node.getBoundingClientRect())
            .filter(({ left, right }) => left < 0 || right > innerWidth).length"""
        assert page.locator("#roll :is(button, select, input, h1, output, label)").evaluate_all(outside) == 0
        assert page.evaluate("roll.scroller.scrollWidth > roll.scroller.clientWidth") and page.is_visible(".overview")
        page.click("#all")
        wait_for(page, "!roll.waiting")
        assert page.evaluate("roll.scroller.scrollWidth <= roll.scroller.clientWidth")


def test_it_scrolls_and_zooms(opened: Opened) -> None:
    page = opened(piano_roll(many(400)), viewport={"width": 1000, "height": 800})
    seconds = page.evaluate("roll.seconds(300)")
    page.evaluate("""roll.scroller.dispatchEvent(new WheelEvent("wheel",
        { deltaY: -400, ctrlKey: true, cancelable: true, clientX: roll.window.getBoundingClientRect().left + 300 }))""")
    assert page.evaluate("roll.seconds(300)") == pytest.approx(seconds, abs=0.05)  # what is pointed at stays there
    before = page.evaluate("roll.scale")
    page.click("#out")
    assert page.evaluate("roll.scale") == pytest.approx(before / 1.5)
    page.focus("#roll .notes")
    page.keyboard.press("0")
    assert page.evaluate("roll.scale === roll.least()")
    for _ in range(20):
        page.keyboard.press("+")
    assert page.evaluate("roll.scale") == page.evaluate("roll.MOST")
    left, (_, y) = page.evaluate("roll.scroller.scrollLeft"), middle(page, 10)
    page.mouse.move(700, y)
    page.mouse.down()
    page.mouse.move(500, y, steps=4)
    page.mouse.up()
    assert page.evaluate("roll.scroller.scrollLeft") == pytest.approx(left + 200, abs=2)
    assert page.evaluate("roll.chosen") is None  # it was dragged, not clicked
    strip = page.locator(".overview").bounding_box()
    page.mouse.click(strip["x"] + 0.5 * strip["width"], strip["y"] + 10)
    wait_for(page, "Math.abs((roll.seen()[0] + roll.seen()[1]) / 2 / roll.music.seconds - .5) < .02")


# What is heard --------------------------------------------------------------------------------------------


def hear(page: Any) -> None:
    """Keep every note that is handed to the audio clock, as (pitch, velocity, when, length, offset)."""
    page.evaluate("""() => {
        window.struck = [];
        const { strike } = RollSound.prototype;
        RollSound.prototype.strike = function (...note) { struck.push(note); return strike.apply(this, note); };
    }""")


def test_it_plays_every_note_when_it_stands_there(opened: Opened) -> None:
    notes = [Note(60 + i % 12, 100, i / 20, i / 20 + 0.1, i % 2) for i in range(40)]
    page = opened(piano_roll(notes, attention=weights(40)))
    assert page.evaluate("roll.transport.sound") is None and page.inner_text("#play") == "Play"
    hear(page)
    page.check("#live")
    page.click("#play")
    wait_for(page, "!roll.transport.playing && struck.length === 40")
    struck = page.evaluate("struck")
    assert [(pitch, velocity) for pitch, velocity, *_ in struck] == [(n.pitch, n.velocity) for n in notes]
    whens = np.array([when for _, _, when, *_ in struck])
    np.testing.assert_allclose(whens - whens[0], [n.start for n in notes], atol=1e-5)
    np.testing.assert_allclose([length for *_, length, _ in struck], [n.end - n.start for n in notes], atol=1e-5)
    assert page.inner_text("#play") == "Play" and page.inner_text("#time") == "0:02 / 0:02"
    page.locator("[role=switch]", has_text="track 1").click()
    page.click("#play")  # from the beginning, without a track
    wait_for(page, "roll.looking().length && struck.length > 42")
    assert page.evaluate("struck.slice(40, 43).map(([pitch]) => pitch)") == [61, 63, 65]


def test_it_goes_on_from_where_it_is_put(opened: Opened) -> None:
    notes = [Note(48, 90, 0.0, 20.0), *(Note(60 + i, 90, i, i + 0.5) for i in range(20))]
    page = opened(piano_roll(notes))
    hear(page)
    box = page.locator("#roll .notes").bounding_box()
    page.mouse.click(box["x"] + page.evaluate("roll.x(9.8)"), box["y"] + 8)
    assert page.evaluate("roll.transport.position") == pytest.approx(9.8, abs=0.05)
    page.keyboard.press(" ")
    wait_for(page, "struck.length >= 2")
    held, following = page.evaluate("struck.slice(0, 2)")
    at = page.evaluate("roll.transport.at")
    assert held[0] == 48 and held[4] == pytest.approx(at, abs=1e-4) and held[3] == pytest.approx(20 - at, abs=1e-4)
    assert following[0] == 70 and following[2] - held[2] == pytest.approx(10 - at, abs=1e-4)
    page.keyboard.press(" ")
    assert not page.evaluate("roll.transport.playing") and page.evaluate("roll.transport.sound.voices.size") == 0
    page.click("#stop")
    assert page.evaluate("roll.transport.position") == 0


RENDER = """async ([notes, seconds, stop]) => {
    const context = new OfflineAudioContext(1, 44100 * seconds, 44100), sound = new RollSound(context);
    for (const note of notes) sound.strike(...note);
    if (stop) context.suspend(stop).then(() => { sound.silence(); context.resume(); });
    const samples = (await context.startRendering()).getChannelData(0), loud = [];
    for (let i = 0; i < samples.length; i += 4410) loud.push(Math.max(...samples.subarray(i, i + 4410).map(Math.abs)));
    return loud; // in each tenth of a second
}"""


def test_its_sound_begins_dies_away_and_ends(opened: Opened) -> None:
    page = opened(piano_roll(TUNE))
    loud = page.evaluate(RENDER, [[[60, 100, 0.5, 1.0]], 3, 0])
    assert max(loud[:5]) == 0 and loud[5] > 0.05
    assert loud[5] > loud[13] > 0.01 and loud[17] < loud[13] / 4 and max(loud[21:]) < 1e-4
    stopped = page.evaluate(RENDER, [[[60, 100, 0.5, 2.0], [64, 100, 1.2, 1.0]], 3, 1.0])
    assert stopped[9] > 0.02 and max(stopped[12:]) < 1e-4
    soft = page.evaluate(RENDER, [[[60, 30, 0.5, 1.0]], 1, 0])
    assert 0 < max(soft) < max(loud) / 3
    crowd = page.evaluate(RENDER, [[[21 + i, 127, 0.1, 1.0] for i in range(88)] * 2, 1, 0])
    assert 0.3 < max(crowd) < 1  # it is not cut off


def test_its_tones_have_their_pitch(opened: Opened) -> None:
    page = opened(piano_roll(TUNE))
    for pitch in (36, 100):
        samples = np.array(page.evaluate(f"Array.from(rollTone.samples({pitch}))"))
        assert np.isfinite(samples).all() and 0.9 < np.abs(samples).max() <= 1 and abs(samples[-1]) < 1e-3
        spectrum = np.abs(np.fft.rfft(samples[2000:]))
        frequency = 440 * 2 ** ((pitch - 69) / 12)
        around = np.fft.rfftfreq(len(samples) - 2000, 1 / 32000)
        near = (around > 0.5 * frequency) & (around < 1.4 * frequency)
        assert around[near][spectrum[near].argmax()] == pytest.approx(frequency, rel=0.02, abs=1)


# What a note looked at ------------------------------------------------------------------------------------


def shares(page: Any) -> list[str]:
    return texts(page, "aside li .weight")


def test_a_note_shows_what_it_looked_at(opened: Opened) -> None:
    notes, w = many(60), weights(60)
    view = piano_roll(notes, attention=w)
    page = opened(view)
    assert "walk with the arrow keys to see what it looked at" in page.inner_text("aside")
    plain = page.evaluate("roll.front.toDataURL()")
    x, y = middle(page, 40)
    page.mouse.move(x, y)
    wait_for(page, "roll.pointed === 40 && !roll.waiting")
    assert page.evaluate("roll.front.toDataURL()") != plain
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    assert page.evaluate("[roll.chosen, roll.pointed]") == [40, None]
    looked = view.looked_at(40)
    assert page.inner_text("aside h2").startswith(page.evaluate("roll.pitchName(40)"))
    assert [int(i) for i in page.locator("aside li button").evaluate_all("bs => bs.map((b) => b.dataset.note)")] == [
        other for other, _ in looked
    ]
    numbers = [float(text.removesuffix(" %")) / 100 for text in shares(page)]
    np.testing.assert_allclose(numbers, [weight for _, weight in looked], atol=0.0051)
    page.select_option("#layer", "1")
    page.select_option("#head", "2")
    best = view.looked_at(40, 1, 2)
    assert "In layer 1, head 2, it looked most at" in page.inner_text("aside")
    assert float(shares(page)[0].removesuffix(" %")) == pytest.approx(100 * best[0][1], abs=0.51)
    page.click("aside li button >> nth=0")
    assert page.evaluate("roll.chosen") == best[0][0]
    page.evaluate("roll.choose(0)")
    assert "it looked at no earlier note" in page.inner_text("aside") and shares(page) == []


def test_the_keyboard_walks_from_note_to_note(opened: Opened) -> None:
    notes = [Note(60, 64, 0.0, 2.0), Note(64, 64, 0.0, 2.0), Note(67, 64, 0.0, 1.0), Note(62, 64, 1.0, 2.0)]
    page = opened(piano_roll(notes, attention=weights(4, 1, 1), tempo=120))
    marks = "rollDrawing.marks(0, 3).map(([, text]) => text)"
    assert page.evaluate(marks) == ["1", "2"]
    page.select_option("#measure", "seconds")
    assert page.evaluate(marks)[:2] != ["1", "2"]
    page.focus("#roll .notes")
    walked = []
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "ArrowRight", "ArrowDown", "End", "Home", "ArrowLeft", "End"):
        page.keyboard.press(key)
        walked.append(page.evaluate("roll.chosen"))
    assert walked == [0, 1, 2, 3, 0, 3, 0, 0, 3]
    spoken = page.inner_text(".spoken")
    assert spoken.startswith("D4, 0:01.0 to 0:02.0, velocity 64; looked at ") and " %" in spoken
    page.keyboard.press("Enter")
    assert page.evaluate("roll.transport.position") == 1
    page.keyboard.press("Escape")
    assert page.evaluate("roll.chosen") is None
    unnamed = "nodes => nodes.filter((x) => !(x.textContent.trim() || x.ariaLabel || x.labels?.length)).length"
    assert page.locator("#roll :is(button, input, select)").evaluate_all(unnamed) == 0
