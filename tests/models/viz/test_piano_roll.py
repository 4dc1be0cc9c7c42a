"""Piano rolls: the notes and arcs in a page, and invalid arguments."""

import base64
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.viz.palette import DARK, LIGHT, rgb
from minigrad_models.music.midi import Note, Song, write_midi
from minigrad_models.viz.piano_roll import KEPT, NONE, PianoRoll, bar_lines, piano_roll
from tests.support.browser import texts, wait_for
from tests.support.cases import raises

HTML = '<img src=x onerror="alert(1)">'
TUNE = [Note(60, 64, 0.0, 1.0), Note(67, 80, 0.5, 1.5, 1), Note(61, 127, 1.0, 1.5), Note(72, 1, 2.5, 4.0, 1)]


def weights(count: int, layers: int = 2, heads: int = 3, seed: int = 0) -> np.ndarray:
    """Attention (L, H, N, N) whose rows sum to 1, except the first note's."""
    w = np.random.default_rng(seed).random((layers, heads, count, count)) ** 4 * np.tri(count, k=-1)
    return w / np.maximum(w.sum(-1, keepdims=True), 1e-12)


def many(count: int) -> list[Note]:
    """Notes one after another."""
    return [Note(40 + 7 * i % 40, 1 + i % 127, i / 8, i / 8 + 0.2, i % 3) for i in range(count)]


def bytes_of(data: dict[str, Any], name: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(data[name]), kind)


def test_the_page_holds_the_notes_in_their_order() -> None:
    notes = [TUNE[3], TUNE[1], TUNE[0], TUNE[2]]
    data = piano_roll(notes, title="Tune").page().data["roll"]
    columns = {"pitches": "u1", "velocities": "u1", "starts": "<f4", "ends": "<f4", "tracks": "<i4"}
    values = [bytes_of(data, name, kind).tolist() for name, kind in columns.items()]
    assert [Note(*row) for row in zip(*values, strict=True)] == notes
    assert bytes_of(data, "order", "<i4").tolist() == [2, 1, 3, 0]
    assert data["names"] == ["track 1", "track 2"] and data["attention"] is None and data["bars"] == ""
    assert data["span"] == [59, 73]


def test_colours_of_tracks_follow_their_order_and_names_their_numbers() -> None:
    notes = [Note(60, 64, 0.0, 1.0, 7), Note(61, 64, 0.0, 1.0, 2)]
    for names in (dict(enumerate("abcdefgh")), list("abcdefgh"), lambda i: "abcdefgh"[i]):
        data = piano_roll(notes, tracks=names).page().data["roll"]
        assert data["names"] == ["c", "h"] and bytes_of(data, "tracks", "<i4").tolist() == [1, 0]
    assert piano_roll(notes, tracks=["a"]).score.names == ("2", "7")


def test_a_path_a_song_and_a_list_of_notes(tmp_path: Path) -> None:
    pytest.importorskip("mido", reason="mido reads MIDI files: pip install mido")
    path = write_midi(tmp_path / "a tune.mid", TUNE)
    view = piano_roll(path)
    assert view.title == "Piano roll: a tune" and piano_roll(str(path), title="T").title == "T"
    assert view.score.pitches.tolist() == [60, 67, 61, 72] and not view.bars and view.score.bars.tolist() == [0, 2, 4]
    song = Song(tuple(TUNE), ((0.0, 60.0), (2.0, 120.0)))
    np.testing.assert_allclose(piano_roll(song).score.bars, [0, 3])
    assert piano_roll(song, tempo=240).bars and len(piano_roll(song, tempo=240).score.bars) == 5
    (tmp_path / "text.mid").write_text("la la la")
    raises(ValueError, r"text\.mid", lambda: piano_roll(tmp_path / "text.mid"))
    raises(FileNotFoundError, None, lambda: piano_roll(tmp_path / "none.mid"))
    empty = write_midi(tmp_path / "empty.mid", [])
    raises(ValueError, r"there are no notes to draw in empty\.mid", lambda: piano_roll(empty))


def test_invalid_notes() -> None:
    for note, rule in [((128, 64, 0.0, 1.0), "pitches must"), (Note(60, 64, 0.0, np.inf), "it lasts from 0.0 to inf")]:
        raises(ValueError, f"note 1 of 2: {rule}", partial(piano_roll, [TUNE[0], note]))


def test_invalid_music_is_refused() -> None:
    for music in (None, 3, [1, 2], ["ab"], [(1, 2)], [object()]):
        with pytest.raises(TypeError, match="music must be the path to a MIDI file, a Song or a list of Notes, not"):
            piano_roll(music)  # type: ignore[arg-type]
    for empty in ([], (), Song(())):
        raises(ValueError, "there are no notes to draw", partial(piano_roll, empty))
    for tempo in (0, -1, np.nan, np.inf):
        raises(ValueError, "tempo must be a positive number", partial(piano_roll, TUNE, tempo=tempo))


def test_bars_follow_every_change_of_tempo() -> None:
    song = Song((Note(60, 64, 0.0, 30.0),), ((0.0, 120.0), (3.0, 60.0), (8.0, 240.0)))
    lines = bar_lines(song, 30.0)
    np.testing.assert_allclose([song.quarters(t) for t in lines.tolist()], 4.0 * np.arange(len(lines)), atol=1e-9)
    assert len(lines) == int(song.quarters(30.0) / 4) + 1
    assert bar_lines(Song((), ((0.0, 1e9),)), 1e6).size == 0


def test_repr() -> None:
    assert repr(piano_roll(TUNE)) == "<piano roll of 4 notes in 4.0 s, 2 tracks; .save('x.html')>"
    assert "attention of 2 layers and 3 heads" in repr(piano_roll(TUNE, attention=weights(4)))


def looked_at(view: PianoRoll, note: int, layer: int = 0, row: int = -1) -> list[tuple[int, float]]:
    """The notes that a note looked at, and the weights; row -1 is the mean over the heads."""
    assert view.arcs is not None
    pairs = zip(view.arcs.notes[layer, row, note].tolist(), view.arcs.weights[layer, row, note].tolist(), strict=True)
    return [(other, weight) for other, weight in pairs if other != NONE]


def test_the_largest_weights_of_each_note_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    w = weights(50)
    monkeypatch.setattr(sys.modules["minigrad_models.viz.piano_roll"], "_CELLS", 50 * 3 * 7)  # several blocks
    view = piano_roll(many(50), attention=w)
    both = np.concatenate([w, w.mean(1, keepdims=True)], 1)
    for layer in range(2):
        for head in (0, 1, 2, None):
            for note in (0, 1, 5, 20, 49):
                row = both[layer, 3 if head is None else head, note]
                order = np.argsort(-row, kind="stable")[: min(KEPT, note)]
                looked = looked_at(view, note, layer, 3 if head is None else head)
                assert [other for other, _ in looked] == order.tolist()
                np.testing.assert_allclose([value for _, value in looked], row[order], rtol=1e-5)


def test_types_of_attention() -> None:
    w = np.tri(4, k=-1)[None, None]
    for attention in (mg.tensor(w), w.astype(np.float16), w.tolist(), w.astype(int)):
        assert looked_at(piano_roll(TUNE, attention=attention), 2) == [(0, 1.0), (1, 1.0)]
    itself = piano_roll(TUNE, attention=np.full((1, 1, 4, 4), 0.25))  # a note does not look at itself or ahead
    assert [[other for other, _ in looked_at(itself, i)] for i in range(4)] == [[], [0], [0, 1], [0, 1, 2]]


def test_attention_that_does_not_fit() -> None:
    at = (np.arange(96) == 57).reshape(2, 3, 4, 4)  # layer 1, head 0, note 2, for note 1
    for attention, message in [
        (np.zeros((4, 4)), r"attention must be \(layers, heads, 4, 4\) for 4 notes, not \(4, 4\)"),
        (np.zeros((1, 1, 4, 5)), r"not \(1, 1, 4, 5\)"),
        (np.zeros((0, 1, 4, 4)), r"not \(0, 1, 4, 4\)"),
        (np.zeros((1, 1, 4, 4), complex), "real numbers"),
        (np.where(at, np.nan, 0), "layer 1, head 0, note 2 has the weight nan for note 1"),
        (np.where(at, np.inf, 0), "weight inf"),
        (np.where(at, -0.5, 0), "weight -0.5"),
        (np.broadcast_to(np.zeros(1), (10**6, 1, 4, 4)), "too many for a page"),
    ]:
        raises(ValueError, message, partial(piano_roll, TUNE, attention=attention))


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


def test_it_scrolls_and_zooms(opened: Opened) -> None:
    page = opened(piano_roll(many(400)), viewport={"width": 1000, "height": 800})
    seconds = page.evaluate("roll.seconds(300)")
    page.evaluate("""roll.scroller.dispatchEvent(new WheelEvent("wheel",
        { deltaY: -400, ctrlKey: true, cancelable: true, clientX: roll.window.getBoundingClientRect().left + 300 }))""")
    assert page.evaluate("roll.seconds(300)") == pytest.approx(seconds, abs=0.05)  # the time at the pointer stays
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
    assert page.evaluate("roll.selected") is None  # a drag, not a click
    strip = page.locator(".overview").bounding_box()
    page.mouse.click(strip["x"] + 0.5 * strip["width"], strip["y"] + 10)
    wait_for(page, "Math.abs((roll.view()[0] + roll.view()[1]) / 2 / roll.music.seconds - .5) < .02")


def hear(page: Any) -> None:
    """Record every note passed to the audio clock as (pitch, velocity, when, length, offset)."""
    page.evaluate("""() => {
        window.struck = [];
        const { strike } = RollSound.prototype;
        RollSound.prototype.strike = function (...note) { struck.push(note); return strike.apply(this, note); };
    }""")


def test_it_plays_every_note_at_its_time(opened: Opened) -> None:
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
    wait_for(page, "roll.arcNotes().length && struck.length > 42")
    assert page.evaluate("struck.slice(40, 43).map(([pitch]) => pitch)") == [61, 63, 65]


def test_it_plays_from_the_chosen_position(opened: Opened) -> None:
    notes = [Note(48, 90, 0.0, 20.0), *(Note(60 + i, 90, i, i + 0.5) for i in range(20))]
    page = opened(piano_roll(notes))
    hear(page)
    box = page.locator("#roll .notes").bounding_box()
    page.mouse.click(box["x"] + page.evaluate("roll.x(9.8)"), box["y"] + 8)
    assert page.evaluate("roll.transport.position") == pytest.approx(9.8, abs=0.05)
    page.keyboard.press(" ")
    wait_for(page, "struck.length >= 2")
    long, following = page.evaluate("struck.slice(0, 2)")
    at = page.evaluate("roll.transport.at")
    assert long[0] == 48 and long[4] == pytest.approx(at, abs=1e-4) and long[3] == pytest.approx(20 - at, abs=1e-4)
    assert following[0] == 70 and following[2] - long[2] == pytest.approx(10 - at, abs=1e-4)
    page.evaluate("struck.length = 0")
    page.evaluate("const s = document.getElementById('speed'); s.value = 2; s.dispatchEvent(new Event('input'))")
    wait_for(page, "struck.length >= 4")  # the long note; one that may already sound; two that follow
    one, other = page.evaluate("struck.slice(2, 4)")
    assert other[2] - one[2] == pytest.approx(0.5, abs=1e-4) and one[3] == pytest.approx(0.25, abs=1e-4)
    assert page.inner_text("output[for=speed]") == "2.00 ×"
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


def test_its_sound_begins_decays_and_ends(opened: Opened) -> None:
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
    wait_for(page, "roll.hovered === 40 && !roll.waiting")
    assert page.evaluate("roll.front.toDataURL()") != plain
    page.mouse.click(x, y)
    page.mouse.move(5, 5)
    assert page.evaluate("[roll.selected, roll.hovered]") == [40, None]
    looked = looked_at(view, 40)
    assert page.inner_text("aside h2").startswith(page.evaluate("roll.pitchName(40)"))
    notes_shown = page.locator("aside li button").evaluate_all("bs => bs.map((b) => Number(b.dataset.note))")
    assert notes_shown == [other for other, _ in looked]
    numbers = [float(text.removesuffix(" %")) / 100 for text in shares(page)]
    np.testing.assert_allclose(numbers, [weight for _, weight in looked], atol=0.0051)
    page.select_option("#layer", "1")
    page.select_option("#head", "2")
    best = looked_at(view, 40, 1, 2)
    assert "In layer 1, head 2, it looked most at" in page.inner_text("aside")
    assert float(shares(page)[0].removesuffix(" %")) == pytest.approx(100 * best[0][1], abs=0.51)
    page.click("aside li button >> nth=0")
    assert page.evaluate("roll.selected") == best[0][0]
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
        walked.append(page.evaluate("roll.selected"))
    assert walked == [0, 1, 2, 3, 0, 3, 0, 0, 3]
    spoken = page.inner_text(".sr-only")
    assert spoken.startswith("D4, 0:01.0 to 0:02.0, velocity 64; looked at ") and " %" in spoken
    page.keyboard.press("Enter")
    assert page.evaluate("roll.transport.position") == 1
    page.keyboard.press("Escape")
    assert page.evaluate("roll.selected") is None
    unnamed = "nodes => nodes.filter((x) => !(x.textContent.trim() || x.ariaLabel || x.labels?.length)).length"
    assert page.locator("#roll :is(button, input, select)").evaluate_all(unnamed) == 0
