"""The list of breaks fits the sources: each piece of text stands once in its file."""

from tests.mutants import ROOT, breaks


def test_every_break_stands_once_in_its_file() -> None:
    counts = {(path, old): (ROOT / path).read_text(encoding="utf-8").count(old) for path, _, old, _ in breaks()}
    assert {place: count for place, count in counts.items() if count != 1} == {}
