"""Reading corpora: every supported layout, and every kind of invalid file."""

import gzip
from pathlib import Path

import pytest

from minigrad_models.text import read_pairs
from tests.support.cases import raises

ENGLISH, GERMAN = "a cat\na dog\n", "eine Katze\nein Hund\n"


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_folder(tmp_path: Path) -> None:
    for split, ending in (("train", ""), ("val", ".gz"), ("test_2016", ".gz")):
        write(tmp_path / f"{split}.en{ending}", ENGLISH)
        write(tmp_path / f"{split}.de{ending}", GERMAN)
    splits = read_pairs([tmp_path], "en", "de")
    assert set(splits) == {"train", "validation", "test"}
    assert all(pairs == (["a cat", "a dog"], ["eine Katze", "ein Hund"], 0) for pairs in splits.values())


def test_a_folder_uses_the_whole_extension(tmp_path: Path) -> None:
    """With train.en and train.tok.en, "en" selects the first and "tok.en" the second."""
    for ending, text in (("en", "A cat.\n"), ("tok.en", "a cat .\n"), ("de", "Katze.\n"), ("tok.de", "katze .\n")):
        write(tmp_path / f"train.{ending}", text)
        write(tmp_path / f"test_flickr.{ending}.gz", text)
    assert read_pairs([tmp_path], "en", "de")["train"].source == ["A cat."]
    tokens = read_pairs([tmp_path], "tok.en", "tok.de")
    assert tokens["train"].source == tokens["test"].source == ["a cat ."]


def test_table_and_two_files(tmp_path: Path) -> None:
    table = write(tmp_path / "pairs.tsv.gz", "a cat\teine Katze\tsource 1\na dog\tein Hund\n")
    left, right = write(tmp_path / "x.txt", ENGLISH), write(tmp_path / "y.txt.gz", GERMAN)
    assert read_pairs(table, "", "") == read_pairs(str(table), "", "") == read_pairs([table], "", "")
    assert read_pairs([table], "", "") == read_pairs([left, right], "", "")


def test_pairs_with_an_empty_side_are_skipped(tmp_path: Path) -> None:
    left = write(tmp_path / "a", "one\n\n two\nthree \nfour\n")
    right = write(tmp_path / "b", "uno\nx\ndue\n \nquattro\n")
    table = write(tmp_path / "t.tsv", "one\tuno\n\tx\n two\tdue\tnote\nthree \t \n\nfour\tquattro\n")
    for paths, skipped in (([left, right], 2), ([table], 3)):
        source, target, left_out = read_pairs(paths, "", "")["train"]
        assert left_out == skipped
        assert len(source) == len(target) == 3
        assert [*source, *target] == ["one", "two", "four", "uno", "due", "quattro"]


def test_bad_files(tmp_path: Path) -> None:
    for left, right, message in (
        ("one\ntwo\n", "uno\n", r"a has 2 lines, but .*b has 1: line n of one"),
        ("", "", "no sentence pairs"),
        ("\n \n", "\n\n", "no sentence pairs"),
        (b"ok\ncaf\xe9\n", "va bene\ncaff\n", r"a, line 2: not UTF-8 \(byte 0xe9 at 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            read_pairs([write(tmp_path / "a", left), write(tmp_path / "b", right)], "", "")


def test_missing_files(tmp_path: Path) -> None:
    write(tmp_path / "train.en", ENGLISH)
    for kind, paths, message in (
        (FileNotFoundError, [tmp_path / "nowhere"], "nowhere does not exist"),
        (FileNotFoundError, [tmp_path], r"no train.en with a train.de .*it has train.en"),
        (ValueError, [tmp_path] * 3, "not 3 paths"),
    ):
        raises(kind, message, lambda: read_pairs(paths, "en", "de"))  # noqa: B023


def test_table_without_tabs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2: no tab; .* \(spreadsheets can save this\)"):
        read_pairs([write(tmp_path / "t.tsv", "a\tb\n21,twenty one\n")], "", "")


QUOTED = {
    "quotes within": ('a\tb, c\n"say ""d"""\te\n', (["a", 'say "d"'], ["b, c", "e"])),
    "commas": ('a\tb\n"c, d"\te\nf\t"g, h"\n', (["a", "c, d", "f"], ["b", "e", "g, h"])),
    "an empty cell": ('a\tb\n"c"\t""\n" "\td\n', (["a"], ["b"])),
    "a quotation": ('"Go away."\t"Geh weg."\na, b\tc\n', (['"Go away."', "a, b"], ['"Geh weg."', "c"])),
    "its beginning": ('"Go," he said.\tx\n', (['"Go," he said.'], ["x"])),
    "within a sentence": ('a "b" c\t"d"\n', (['a "b" c'], ['"d"'])),
    "two quotations": ('"a" and "b"\tx, y\n', (['"a" and "b"'], ["x, y"])),
}


def test_quotes_of_a_spreadsheet(tmp_path: Path) -> None:
    for name, (table, (source, target)) in QUOTED.items():
        pairs = read_pairs([write(tmp_path / "t.tsv", table)], "", "")["train"]
        assert (list(pairs.source), list(pairs.target)) == (source, target), name


def test_line_endings_of_all_systems(tmp_path: Path) -> None:
    for end in ("\r\n", "\n"):
        rows = [f"one {i}\tuno {i}" for i in range(60)]
        pairs = read_pairs([write(tmp_path / "t.tsv", end.join(rows) + end)], "", "")["train"]
        assert pairs == ([f"one {i}" for i in range(60)], [f"uno {i}" for i in range(60)], 0)
    table = write(tmp_path / "t.tsv", b"\xef\xbb\xbf21\ttwenty one\r\n\r\n7\tseven\r\n")
    assert read_pairs([table], "", "")["train"] == (["21", "7"], ["twenty one", "seven"], 1)
    with pytest.raises(ValueError, match=r"t\.tsv, line 2: it contains a carriage return"):
        read_pairs([write(tmp_path / "t.tsv", "a\tb\nc\td\re\tf\ng\th\n")], "", "")
