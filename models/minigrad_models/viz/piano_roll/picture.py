"""A piano roll as a vector picture: keys at the left, time to the right, and of one note what it looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import INK, LINE, QUIET, Drawing, cut, shortened

from ..texts import LONGEST
from .score import BLACK, Score, clock, pitch_name, time_ticks

SECOND = 60.0  # pixels of one, where the whole picture then is neither narrower nor wider than this
NARROWEST, WIDEST = 480.0, 1200.0
LEFT, EDGE, TOP, BOTTOM = 62.0, 18.0, 34.0, 42.0  # around the field: of names and keys, title, and times
KEY = 26.0  # the length of a key
LINE_HEIGHT, ENTRY = 16.0, 104.0  # of the legend, and the width of a track's name in it
TALLEST = 300.0  # of all rows together, where a row is neither flatter nor taller than this
FLATTEST, TALLEST_ROW = 3.0, 12.0
NAMED = 24  # tracks in the legend
SMALL = 11.0
Weights = Sequence[tuple[int, float]]


class Picture:
    """The notes of a score from ``start`` to ``stop`` (s). ``scale`` is pixels a second, ``row`` the height of a pitch;
    the field ends at ``right``, and lies between ``top`` and ``bottom``."""

    def __init__(self, score: Score, title: str, start: float, stop: float) -> None:
        self.score, self.title, self.start, self.stop = score, title, start, stop
        seconds = max(stop - start, 1e-9)
        self.scale = min(max(SECOND * seconds, NARROWEST), WIDEST) / seconds
        self.right = LEFT + self.scale * (stop - start)
        self.low, self.high = score.span
        count = self.high - self.low + 1
        self.row = min(max(TALLEST / count, FLATTEST), TALLEST_ROW)
        self.names = score.names[:NAMED] if len(score.names) > 1 else ()
        self.across = int((self.right - LEFT) // ENTRY)  # names on a line of the legend
        self.top = TOP + LINE_HEIGHT * -(-len(self.names) // self.across)
        self.bottom = self.top + self.row * count

    def x(self, seconds: float) -> float:
        """The place of a time."""
        return LEFT + self.scale * (seconds - self.start)

    def y(self, pitch: int) -> float:
        """The upper edge of a pitch."""
        return self.top + self.row * (self.high - pitch)

    def svg(self, bars: bool, note: int | None, looked: Weights, caption: str) -> str:
        """The text of the file; ``note`` and what it ``looked`` at, with a line below that says so, the ``caption``."""
        high = self.bottom + BOTTOM
        drawing = Drawing(self.right + EDGE, high, self.title)
        title = shortened(self.title, 13, self.right - EDGE)
        drawing.text(EDGE, 20, title, size=13, font_weight=600)
        for place, name in enumerate(self.names):
            x, y = LEFT + ENTRY * (place % self.across), TOP + LINE_HEIGHT * (place // self.across)
            drawing.add("circle", cx=x + 5, cy=y - 4, r=4.5, fill=LIGHT.nth(place))
            drawing.text(x + 14, y, shortened(cut(name, LONGEST), SMALL, ENTRY - 18), size=SMALL)
        self._rows(drawing)
        self._times(drawing, bars)
        self._notes(drawing)
        if note is not None:
            self._arcs(drawing, note, looked)
            drawing.text(LEFT, high - 8, shortened(caption, SMALL, self.right - LEFT), size=SMALL)
        return drawing.svg()

    def _rows(self, drawing: Drawing) -> None:
        """A key for each pitch, with a band where it is black, and the names of the Cs."""
        field: dict[str, Any] = {"x": LEFT, "width": self.right - LEFT, "height": self.row}
        for pitch in range(self.low, self.high + 1):
            y, black = self.y(pitch), pitch % 12 in BLACK
            if black:
                drawing.add("rect", y=y, **field, fill=INK, fill_opacity=0.05)
            key = KEY * 0.62 if black else KEY
            look: dict[str, Any] = {"fill": INK} if black else {"fill": "#ffffff", "stroke": LINE, "stroke_width": 0.5}
            drawing.add("rect", x=LEFT - KEY - 2, y=y, width=key, height=self.row, **look)
            if pitch % 12 == 0:
                drawing.text(LEFT - KEY - 6, y + self.row / 2 + 4, pitch_name(pitch), "end", SMALL, QUIET)

    def _times(self, drawing: Drawing, bars: bool) -> None:
        """Lines and times, or numbers of bars."""
        about = (self.right - LEFT) / 56
        if bars:
            there = [(t, i) for i, t in enumerate(self.score.bars.tolist()) if self.start <= t <= self.stop]
            step = next(s for e in range(9) for s in (10**e, 2 * 10**e, 4 * 10**e) if len(there) <= s * about or e == 8)
            marks = [(t, str(i + 1)) for t, i in there if i % step == 0]
        else:
            ticks = time_ticks(self.start, self.stop, int(about))
            digits = int(len(ticks) > 1 and ticks[1] - ticks[0] < 1)
            marks = [(t, clock(t, digits)) for t in ticks]
        for seconds, text in marks:
            x = self.x(seconds)
            drawing.line([(x, self.top), (x, self.bottom + 4)], LINE, 0.7)
            drawing.text(x, self.bottom + 17, text, "middle", SMALL, QUIET)
        drawing.line([(LEFT, self.bottom), (self.right, self.bottom)], QUIET, 0.7)

    def _notes(self, drawing: Drawing) -> None:
        score = self.score
        for i in score.order.tolist():
            start, end = max(float(score.starts[i]), self.start), min(float(score.ends[i]), self.stop)
            if end < self.start or start > self.stop:
                continue
            wide = max(self.scale * (end - start), 1.5)
            box: dict[str, Any] = {"x": self.x(start), "y": self.y(int(score.pitches[i])) + 0.3}
            box |= {"width": wide, "height": self.row - 0.6}
            opacity = 0.3 + 0.7 * int(score.velocities[i]) / 127
            drawing.add("rect", **box, class_="note", fill=LIGHT.nth(int(score.tracks[i])), fill_opacity=opacity)

    def _arcs(self, drawing: Drawing, note: int, looked: Weights) -> None:
        """Arcs from a note to earlier ones, the thicker and darker the larger the weight; and a frame around it."""
        score, most = self.score, max((weight for _, weight in looked), default=1.0)
        onset = lambda i: (self.x(float(score.starts[i])), self.y(int(score.pitches[i])) + self.row / 2)
        drawing.open("clipPath", id="field")  # what it looked at may lie outside the picture
        drawing.add("rect", x=LEFT - 2, y=0, width=self.right - LEFT + 4, height=self.bottom)
        drawing.close("clipPath")
        drawing.open("g", clip_path="url(#field)")
        (x, y), look = onset(note), {"class_": "arc", "fill": "none", "stroke": INK, "stroke_linecap": "round"}
        for other, weight in reversed(looked):
            part, (left, level) = weight / most, onset(other)
            rise = min(max(0.3 * abs(x - left), 14.0), 90.0)
            peak = max(min(y, level) - rise, 2 * self.top - (y + level) / 2)  # the arc stays below the legend
            path = f"M{x:.2f} {y:.2f}Q{(x + left) / 2:.2f} {peak:.2f} {left:.2f} {level:.2f}"
            drawing.add("path", d=path, **look, stroke_width=0.6 + 4 * part, stroke_opacity=0.1 + 0.8 * part**0.5)
        wide = max(self.scale * (min(float(score.ends[note]), self.stop) - float(score.starts[note])), 1.5)
        box: dict[str, Any] = {"x": x, "y": y - self.row / 2, "width": wide, "height": self.row}
        drawing.add("rect", **box, fill="none", stroke=INK, stroke_width=1.5)
        drawing.close("g")


def sentence(score: Score, note: int, looked: Weights, whose: str) -> str:
    """What a note looked at, in words, as far as it is a hundredth or nearly."""
    named = lambda i: f"{pitch_name(int(score.pitches[i]))} ({clock(float(score.starts[i]), 1)})"
    targets = [f"{named(other)} {100 * weight:.0f} %" for other, weight in looked if weight >= 0.005]
    nothing = "hardly any earlier note" if looked else "no earlier note"
    return f"{whose}: {named(note)} looked at {', '.join(targets) or nothing}"
