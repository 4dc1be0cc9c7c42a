"""Texts that can be drawn."""

from minigrad.viz.texts import clean


def test_texts_can_be_drawn() -> None:
    assert clean(" the") == "·the" and clean("New York  ") == "New York··" and clean("  ") == "␣␣"
    assert clean("") == "∅" and clean("a\nb\x00\ud800\uffff") == "a↵b���" and clean("\t\n") == "⇥↵"
    assert clean("می‌خواهم") == "می‌خواهم" and clean("<b>&\"'") == "<b>&\"'"
    blanks = ["", " ", "  ", "\n", "\r", "\t", "\u00a0", "\u3000", "\u200b", "\x0b", " \n", "\n "]
    assert len({clean(text) for text in blanks}) == len(blanks) and clean("\r\n") == "␍↵" and clean("\xa0") == "U+00A0"
    assert clean("\u202eabc\u2069") == "�abc�" and clean("\ufeff\u200b") == "U+FEFF U+200B"
