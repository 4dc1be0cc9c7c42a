"""SVG pictures: well-formed for any text; drawable texts."""

from xml.etree import ElementTree

import pytest

from minigrad.viz.vector import Drawing, clean, escaped
from minigrad_models.viz.texts import label

EVIL = ['"><script>alert(1)</script>', "a & b < c", "\x00\x1b[31m\ud800", "👩‍👩‍👧 naïve \u202e", "x" * 10_000]


@pytest.mark.parametrize("text", EVIL)
def test_text_is_escaped(text: str) -> None:
    drawing = Drawing(100, 50, text)
    drawing.text(1, 2, text)
    drawing.add("circle", r=1.0, class_=text)
    root = ElementTree.fromstring(drawing.svg())
    tags = [node.tag.split("}")[1] for node in root.iter()]
    assert tags == ["svg", "title", "rect", "text", "circle"]
    assert root[2].text == root[0].text


def test_numbers_are_short_and_names_become_attributes() -> None:
    drawing = Drawing(10, 10, "t")
    drawing.add("path", d="M0 0", stroke_width=1.23456, opacity=None, class_="a")
    assert drawing.parts == ['<path d="M0 0" stroke-width="1.23" class="a"></path>']


def test_labels_are_short_and_show_empty_text() -> None:
    assert [label(text) for text in ("", " ", "\n", "a\nb")] == ["∅", "␣", "↵", "a↵b"]
    assert len(label("y" * 10_000)) == 24 and label("y" * 25).endswith("…")
    assert escaped("<&'\"") == "&lt;&amp;&#x27;&quot;"


def test_texts_can_be_drawn() -> None:
    assert clean(" the") == "·the" and clean("New York  ") == "New York··" and clean("  ") == "␣␣"
    assert clean("") == "∅" and clean("a\nb\x00\ud800\uffff") == "a↵b���" and clean("\t\n") == "⇥↵"
    assert clean("می‌خواهم") == "می‌خواهم" and clean("<b>&\"'") == "<b>&\"'"
    blanks = ["", " ", "  ", "\n", "\r", "\t", "\u00a0", "\u3000", "\u200b", "\x0b", " \n", "\n "]
    assert len({clean(text) for text in blanks}) == len(blanks) and clean("\r\n") == "␍↵" and clean("\xa0") == "U+00A0"
    assert clean("\u202eabc\u2069") == "�abc�" and clean("\ufeff\u200b") == "U+FEFF U+200B"
