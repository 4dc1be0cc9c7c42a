"""The report on translations: counts, scores, lengths, the worst sentences, and errors for bad input."""

import json
import sys
from dataclasses import asdict

import pytest

from minigrad_models.text.scores import bleu, by_length, chrf, report, samples
from tests.support.cases import raises

pytest.importorskip("sacrebleu")


SOURCES = ["one two", "one two three four five six", "a " * 31, "x y z", "two one"]
REFERENCES = ["eins zwei", "eins zwei drei vier fünf sechs", "ein " * 31, "x y z", "zwei eins"]
FOUND = ["eins zwei", "eins zwei drei vier fünf acht", "ein " * 20, "", "zwei Eins"]


def test_counts_scores_and_the_worst() -> None:
    result = report(FOUND, REFERENCES, SOURCES, worst=2)
    assert (result.sentences, result.exact, result.empty) == (5, 1, 1)
    assert result.bleu.value == bleu(FOUND, REFERENCES).value
    assert result.chrf == chrf(FOUND, REFERENCES)
    assert result.bleu.interval and result.moses is None and result.notes == []
    assert [s.source for s in result.worst] == ["x y z", "two one"]
    assert result.worst[0].chrf == 0 < result.worst[1].chrf < 100
    back = json.loads(json.dumps(asdict(result)))
    assert back["bleu"]["signature"] == result.bleu.signature and back["worst"][0]["source"] == "x y z"
    assert result.worst[1].translation == FOUND[4] and result.worst[1].reference == REFERENCES[4]


def test_the_breakdown_has_each_sentence_once() -> None:
    rows = report(FOUND, REFERENCES, SOURCES).by_length
    assert [row.words for row in rows] == ["up to 5", "6 to 10", "31 and more"]
    assert [row.sentences for row in rows] == [3, 1, 1]
    assert rows[1].bleu == bleu(FOUND[1:2], REFERENCES[1:2]).value
    assert [row.length_ratio for row in rows] == pytest.approx([4 / 7, 1, 20 / 31])
    assert by_length([]) == []
    for words in (5, 6, 10, 11, 15, 16, 20, 21, 30, 31):
        (row,) = report(["a b"], ["a b"], [" ".join("w" * words)]).by_length
        first, *_, last = row.words.replace("up to", "0 to").split()
        assert int(first) <= words and (last == "more" or words <= int(last))


def test_moses_and_tokenised_text() -> None:
    pytest.importorskip("sacremoses")
    result = report(["ein haus am see !"], ["Ein Haus am See!"], ["x"], language="de")
    assert result.bleu.value < 20 and result.moses and result.moses.value == pytest.approx(100)
    tokenised = report(["it &apos;s a man here"], ["it &apos;s a man"], ["x"], language="lc.norm.tok.de")
    assert "tok:none" in tokenised.bleu.signature and tokenised.moses is None
    assert tokenised.by_length[0].bleu == tokenised.bleu.value


def test_the_target_chooses_the_tokenizer() -> None:
    sides = ["我今天很高兴。"], ["我今天非常高兴。"], ["x"]
    chinese = report(*sides, language="zh")
    assert "tok:zh" in chinese.bleu.signature and chinese.bleu.value > 20
    assert chinese.by_length[0].bleu == chinese.bleu.value and chinese.moses is None and not chinese.notes
    assert report(*sides, language="target", tokenizer="zh").bleu == chinese.bleu
    assert "tok:char" in report(*sides, language="zh", tokenizer="char").bleu.signature


def test_a_score_that_cannot_be_computed_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    result = report(["a"], ["a"], ["a"], language="sv")  # a language whose tokenizer nothing has loaded
    assert result.moses is None and "pip install" in result.notes[0]
    assert "note: no BLEU in Moses' tokens: " in result.text()
    assert "language" in report(["a"], ["a"], ["a"], language="2").notes[0]
    monkeypatch.setattr("minigrad_models.text.scores.MOST_RESAMPLED", 4)  # a very large set
    result = report(FOUND, REFERENCES, SOURCES)
    assert result.bleu.interval is None and "no confidence interval" in result.notes[0]


def test_the_text_shows_all_of_it() -> None:
    result = report(FOUND, REFERENCES, SOURCES, worst=3)
    text = result.text()
    assert text.startswith("5 sentences, 1 translated exactly (20.0%), 1 with an empty translation\n")
    for part in (result.bleu.signature, result.chrf.text, "31 and more", "reference  x y z"):
        assert part in text
    assert "lowest chrF" not in report(FOUND, REFERENCES, SOURCES, worst=0).text()
    long = report(["a" * 5000], ["b"], ["c " * 5000]).text()
    assert max(len(line) for line in long.splitlines()) < 320


def test_invalid_input() -> None:
    raises(ValueError, "no translations", lambda: report([], [], []))
    raises(ValueError, "2 sources, but 1 references", lambda: report(["a", "b"], ["a"], ["a", "b"]))
    raises(ValueError, "1 translations, but 2 references", lambda: report(["a"], ["a", "b"], ["a", "b"]))


def test_samples_show_the_reference_if_it_differs() -> None:
    text = samples(SOURCES, FOUND, REFERENCES, count=99)
    assert text.count("reference") == 4 and all(source.strip() in text for source in SOURCES)
    assert samples(SOURCES, FOUND, REFERENCES, 2) == samples(SOURCES, FOUND, REFERENCES, 2)
    assert len(samples(SOURCES[:1], FOUND[:1], REFERENCES[:1], 1).splitlines()) == 2
