"""The list of mutants matches the sources: each text occurs once in its file."""

from tests.mutants import ROOT, breaks


def test_every_mutant_occurs_once_in_its_file() -> None:
    counts = {(path, old): (ROOT / path).read_text(encoding="utf-8").count(old) for path, _, old, _ in breaks()}
    assert {place: count for place, count in counts.items() if count != 1} == {}
