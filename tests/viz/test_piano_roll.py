"""Piano rolls: the notes and arcs that a page holds, what is refused, and the vector picture."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.music.midi import Song, write_midi
from minigrad.music.notes import Note
from minigrad.viz.piano_roll import arcs as arcs_module
from minigrad.viz.piano_roll import piano_roll
from minigrad.viz.piano_roll.arcs import KEPT
from minigrad.viz.piano_roll.score import bar_lines, clock, pitch_name, time_ticks

HTML = '<img src=x onerror="alert(1)">'
TUNE = [Note(60, 64, 0.0, 1.0), Note(67, 80, 0.5, 1.5, 1), Note(61, 127, 1.0, 1.5), Note(72, 1, 2.5, 4.0, 1)]


def weights(count: int, layers: int = 2, heads: int = 3, seed: int = 0) -> np.ndarray:
    """Attention (L, H, N, N) whose rows sum to 1, but for the first note's."""
    w = np.random.default_rng(seed).random((layers, heads, count, count)) ** 4 * np.tri(count, k=-1)
    return w / np.maximum(w.sum(-1, keepdims=True), 1e-12)


def many(count: int) -> list[Note]:
    """Notes one after another."""
    return [Note(40 + 7 * i % 40, 1 + i % 127, i / 8, i / 8 + 0.2, i % 3) for i in range(count)]


def bytes_of(data: dict[str, Any], name: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(data[name]), kind)


# The notes ------------------------------------------------------------------------------------------------


def test_the_page_holds_the_notes_in_their_order() -> None:
    notes = [TUNE[3], TUNE[1], TUNE[0], TUNE[2]]
    data = piano_roll(notes, title="Tune").page().data["roll"]
    columns = {"pitches": "u1", "velocities": "u1", "starts": "<f4", "ends": "<f4", "tracks": "<i4"}
    kept = [bytes_of(data, name, kind).tolist() for name, kind in columns.items()]
    assert [Note(*row) for row in zip(*kept, strict=True)] == notes
    assert bytes_of(data, "order", "<i4").tolist() == [2, 1, 3, 0]
    assert data["names"] == ["track 1", "track 2"] and data["attention"] is None and data["bars"] == ""
    assert data["span"] == [59, 73]


def test_tracks_have_the_colours_of_their_order_and_the_names_of_their_numbers() -> None:
    notes = [Note(60, 64, 0.0, 1.0, 7), Note(61, 64, 0.0, 1.0, 2)]
    for names in (dict(enumerate("abcdefgh")), list("abcdefgh"), lambda i: "abcdefgh"[i]):
        data = piano_roll(notes, tracks=names).page().data["roll"]
        assert data["names"] == ["c", "h"] and bytes_of(data, "tracks", "<i4").tolist() == [1, 0]
    assert piano_roll(notes, tracks=["a"]).score.names == ("2", "7")


def test_at_least_an_octave_is_seen_and_so_a_c() -> None:
    for pitch in (0, 5, 60, 127):
        low, high = piano_roll([Note(pitch, 64, 0.0, 1.0)]).score.span
        assert 0 <= low <= pitch <= high <= 127 and high - low == 11
        assert any(p % 12 == 0 for p in range(low, high + 1))


def test_a_path_a_song_and_a_list_of_notes(tmp_path: Path) -> None:
    pytest.importorskip("mido", reason="mido reads MIDI files: pip install mido")
    path = write_midi(tmp_path / "a tune.mid", TUNE)
    view = piano_roll(path)
    assert view.title == "a tune" and piano_roll(str(path), title="T").title == "T"
    assert view.score.pitches.tolist() == [60, 67, 61, 72] and not view.bars and view.score.bars.tolist() == [0, 2, 4]
    song = Song(tuple(TUNE), ((0.0, 60.0), (2.0, 120.0)))
    np.testing.assert_allclose(piano_roll(song).score.bars, [0, 3])
    assert piano_roll(song, tempo=240).bars and len(piano_roll(song, tempo=240).score.bars) == 5
    (tmp_path / "text.mid").write_text("la la la")
    with pytest.raises(ValueError, match=r"text\.mid"):
        piano_roll(tmp_path / "text.mid")
    with pytest.raises(FileNotFoundError):
        piano_roll(tmp_path / "none.mid")
    empty = write_midi(tmp_path / "empty.mid", [])
    with pytest.raises(ValueError, match=r"there is no note to draw in empty\.mid"):
        piano_roll(empty)


def test_notes_that_cannot_be() -> None:
    for note, rule in [
        (Note(128, 64, 0.0, 1.0), "pitch from 0 to 127"),
        (Note(-1, 64, 0.0, 1.0), "pitch from 0 to 127"),
        ((60.5, 64, 0.0, 1.0), "pitch from 0 to 127"),
        (Note(60, 0, 0.0, 1.0), "velocity from 1 to 127"),
        (Note(60, 64, -0.1, 1.0), "begin at 0 s"),
        (Note(60, 64, 2.0, 1.0), "no earlier than it begins"),
        (Note(60, 64, 0.0, np.inf), "finite"),
        (Note(60, 64, np.nan, 1.0), "finite"),
        (Note(60, 64, 0.0, 1.0, -1), "track of 0"),
    ]:
        with pytest.raises(ValueError, match=rf"note 1 \(pitch, velocity.*{rule}"):
            piano_roll([TUNE[0], note])  # type: ignore[list-item]


def test_what_is_no_music_is_refused() -> None:
    for music in (None, 3, [1, 2], ["ab"], [(1, 2)], [("a", "b", "c", "d")], [object()]):
        with pytest.raises(TypeError, match="music is the path of a MIDI file, a Song or a list of Notes, not"):
            piano_roll(music)  # type: ignore[arg-type]
    for empty in ([], (), Song(())):
        with pytest.raises(ValueError, match="there is no note to draw"):
            piano_roll(empty)
    for tempo in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="tempo is a positive number"):
            piano_roll(TUNE, tempo=tempo)


def test_bars_follow_every_change_of_tempo() -> None:
    song = Song((Note(60, 64, 0.0, 30.0),), ((0.0, 120.0), (3.0, 60.0), (8.0, 240.0)))
    lines = bar_lines(song.tempos, 30.0)
    np.testing.assert_allclose([song.quarters(t) for t in lines.tolist()], 4.0 * np.arange(len(lines)), atol=1e-9)
    assert len(lines) == int(song.quarters(30.0) / 4) + 1
    assert bar_lines(((0.0, 1e9),), 1e6).size == 0 and bar_lines((), 1.0).size == 0


def test_names_and_times() -> None:
    assert [pitch_name(p) for p in (0, 21, 60, 61, 127)] == ["C−1", "A0", "C4", "C♯4", "G9"]
    assert [clock(t) for t in (0, 59.4, 59.6, 3600)] == ["0:00", "0:59", "1:00", "60:00"]
    assert [clock(t, 1) for t in (0, 9.96, 65.25)] == ["0:00.0", "0:10.0", "1:05.2"]
    assert time_ticks(0, 100, 8) == [0, 15, 30, 45, 60, 75, 90]
    assert time_ticks(61, 62, 6) == pytest.approx([61, 61.2, 61.4, 61.6, 61.8, 62])
    assert repr(piano_roll(TUNE)) == "<piano roll of 4 notes in 4.0 s, 2 tracks; .save('x.html') or .svg()>"
    assert "attention of 2 layers and 3 heads" in repr(piano_roll(TUNE, attention=weights(4)))


# Attention ------------------------------------------------------------------------------------------------


def test_of_each_note_the_largest_weights_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    w = weights(50)
    monkeypatch.setattr(arcs_module, "_CELLS", 50 * 3 * 7)  # several parts
    view = piano_roll(many(50), attention=w)
    both = np.concatenate([w, w.mean(1, keepdims=True)], 1)
    for layer in range(2):
        for head in (0, 1, 2, None):
            for note in (0, 1, 5, 20, 49):
                row = both[layer, 3 if head is None else head, note]
                order = np.argsort(-row, kind="stable")[: min(KEPT, note)]
                looked = view.looked_at(note, layer, head)
                assert [other for other, _ in looked] == order.tolist()
                np.testing.assert_allclose([value for _, value in looked], row[order], rtol=1e-5)


def test_the_page_holds_the_arcs() -> None:
    w = weights(12)
    w[1, 2, 9] = 0
    w[1, 2, 9, 4] = 1
    view = piano_roll(many(12), attention=w)
    data = view.page().data["roll"]["attention"]
    shape = (2, 4, 12, KEPT)
    assert (data["layers"], data["heads"], data["kept"]) == (2, 3, KEPT)
    notes = bytes_of(data, "notes", "<i4").reshape(shape)
    values = bytes_of(data, "weights", "<u2").reshape(shape) / 65535 * data["most"]
    assert notes[1, 2, 9].tolist() == [4] + [-1] * 7 and values[1, 2, 9, 0] == pytest.approx(1)
    assert view.looked_at(9, 1, 2) == [(4, 1.0)] and view.looked_at(0) == []
    assert (np.diff(values, axis=-1) <= 0).all() and (values[notes < 0] == 0).all()
    assert (notes < np.arange(12)[:, None]).all()


def test_what_attention_may_be() -> None:
    w = np.tri(4, k=-1)[None, None]
    for given in (mg.tensor(w), w.astype(np.float16), w.tolist(), w.astype(int)):
        assert piano_roll(TUNE, attention=given).looked_at(2) == [(0, 1.0), (1, 1.0)]
    itself = piano_roll(TUNE, attention=np.full((1, 1, 4, 4), 0.25))  # a note does not look at itself or ahead
    assert [[other for other, _ in itself.looked_at(i)] for i in range(4)] == [[], [0], [0, 1], [0, 1, 2]]


def test_attention_that_does_not_fit() -> None:
    def changed(value: float) -> np.ndarray:
        w = weights(4)
        w[1, 0, 2, 1] = value
        return w

    for attention, message in [
        (np.zeros((4, 4)), r"attention is \(layers, heads, 4, 4\) for 4 notes, not \(4, 4\)"),
        (np.zeros((1, 1, 4, 5)), r"not \(1, 1, 4, 5\)"),
        (np.zeros((0, 1, 4, 4)), r"not \(0, 1, 4, 4\)"),
        (np.zeros((1, 1, 4, 4), complex), "real numbers"),
        (changed(np.nan), "layer 1, head 0, note 2 has the weight nan for note 1"),
        (changed(np.inf), "weight inf"),
        (changed(-0.5), "weight -0.5"),
        (np.broadcast_to(np.zeros(1), (10**6, 1, 4, 4)), "too many for a page"),
    ]:
        with pytest.raises(ValueError, match=message):
            piano_roll(TUNE, attention=attention)


def test_unknown_notes_layers_and_heads() -> None:
    view = piano_roll(TUNE, attention=weights(4))
    for wrong in ((4, 0, 0), (0, 2, 0), (0, 0, 3), (0, -3, None)):
        with pytest.raises(ValueError, match="there is no "):
            view.looked_at(*wrong)
    assert view.looked_at(-1, -1, -1) == view.looked_at(3, 1, 2)
    with pytest.raises(ValueError, match="there is no attention here"):
        piano_roll(TUNE).looked_at(0)


# The picture ----------------------------------------------------------------------------------------------


def elements(svg: str, name: str, kind: str | None = None) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [e for e in root.iter() if e.tag.endswith("}" + name) and (kind is None or e.get("class") == kind)]


def test_the_picture_has_a_rectangle_for_each_note() -> None:
    notes = many(200)
    drawn = elements(piano_roll(notes).svg(), "rect", "note")
    assert len(drawn) == 200
    left, right = (float(drawn[i].get("x", "")) for i in (0, 199))
    assert (right - left) / (notes[199].start - notes[0].start) == pytest.approx(1200 / notes[-1].end, rel=1e-3)
    assert float(drawn[0].get("fill-opacity", "")) < float(drawn[100].get("fill-opacity", "")) <= 1
    assert len({e.get("fill") for e in drawn}) == 3
    heights = {n.pitch: float(e.get("y", "")) for n, e in zip(notes, drawn, strict=True)}
    assert sorted(heights, key=lambda pitch: -heights[pitch]) == sorted(heights)


def test_the_picture_names_cs_times_and_tracks() -> None:
    words = [e.text for e in elements(piano_roll(TUNE, title="T", tracks=["left", "right"]).svg(), "text")]
    assert {"T", "left", "right", "C4", "C5", "0:00.0", "0:03.5"} <= set(words)
    assert "track 1" not in [e.text for e in elements(piano_roll(TUNE[:1]).svg(), "text")]  # the only one
    barred = [e.text for e in elements(piano_roll(TUNE, tempo=240).svg(), "text")]
    assert {"1", "2", "3", "4"} <= set(barred) and "0:00.0" not in barred
    assert "0:00" in piano_roll(TUNE, tempo=240).svg(bars=False)
    with pytest.raises(ValueError, match="no tempo is known"):
        piano_roll(TUNE).svg(bars=True)


def test_the_picture_of_one_notes_attention(tmp_path: Path) -> None:
    view = piano_roll(TUNE, attention=weights(4))
    svg = view.save(tmp_path / "a.svg", note=3, layer=1, head=2).read_text(encoding="utf-8")
    arcs = elements(svg, "path", "arc")
    assert len(arcs) == 3
    widths = [float(e.get("stroke-width", "")) for e in arcs]
    assert widths == sorted(widths) and widths[-1] == pytest.approx(4.6)  # the largest lies on top
    told = [e.text or "" for e in elements(svg, "text")][-1]
    best, weight = view.looked_at(3, 1, 2)[0]
    assert told.startswith(f"Layer 1, head 2: C5 (0:02.5) looked at {pitch_name(TUNE[best].pitch)}")
    assert f"{100 * weight:.0f} %" in told
    assert "all heads" in view.svg(note=3) and "no earlier note" in view.svg(note=0)
    with pytest.raises(ValueError, match="there is no note 4"):
        view.svg(note=4)
    with pytest.raises(ValueError, match=r"note 3 begins at 2\.5 s"):
        view.svg(0, 2, note=3)
    with pytest.raises(ValueError, match="there is no attention"):
        piano_roll(TUNE).svg(note=1)


def test_a_part_of_the_picture() -> None:
    view = piano_roll(TUNE)
    assert len(elements(view.svg(0.9, 2), "rect", "note")) == 3
    for start, stop in ((2, 2), (-1, 2), (5, None), (np.nan, 2)):
        with pytest.raises(ValueError, match="nothing to draw from"):
            view.svg(start, stop)
    ElementTree.fromstring(piano_roll([Note(60, 64, 0.0, 0.0)]).svg())  # it has no length


def test_hostile_names_are_text(tmp_path: Path) -> None:
    view = piano_roll(TUNE, title=HTML, tracks=[HTML, "</script>\ud800\x00" + "x" * 1000])
    assert {e.text for e in elements(view.svg(), "text")} >= {HTML, HTML[:23] + "…"}
    assert HTML not in view.html() and "</script>\\" not in view.html()
    assert [p.suffix for p in (view.save(tmp_path / "a.svg"), view.save(tmp_path / "a.html"))] == [".svg", ".html"]
    with pytest.raises(ValueError, match=r"must be one of \.html, \.svg, \.png, \.pdf"):
        view.save(tmp_path / "a.gif")
