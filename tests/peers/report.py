"""The outcome for each name in a database, and the number that agree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .left import reason_for


@dataclass
class Report:
    """The outcome for a name.

    Attributes:
        name: "exp", "Tensor.exp", "Tensor.exp_", with the variant in brackets.
        samples: the number that agree.
        differences: a line for each sample that differs; None if minigrad lacks the name.
    """

    name: str
    samples: int = 0
    differences: list[str] | None = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """ "missing"; "different" in one or more samples; "agrees" in all; "skipped": PyTorch itself rejects each."""
        if self.differences is None:
            return "missing"
        if self.differences:
            return "different"
        return "agrees" if self.samples else "skipped"


def verdicts(reports: Iterable[Report]) -> Iterator[tuple[str, str, str]]:
    """Name, verdict and first difference, for ``left.problems``."""
    for report in reports:
        yield report.name, report.verdict, (report.differences or [""])[0]


def by_name(reports: Iterable[Report]) -> dict[str, str]:
    """The verdict for each name, the worst of its variants: "exp" for "exp" and "exp (variant)"."""
    variants = defaultdict(set)
    for report in reports:
        variants[report.name.partition(" (")[0]].add(report.verdict)
    order = ("different", "agrees", "skipped", "missing")
    return {name: min(outcomes, key=order.index) for name, outcomes in variants.items()}


def show(what: str, reports: list[Report]) -> None:
    """Print the differences, the missing names, and the counts."""
    for report in reports:
        if report.differences:
            print(f"{report.name}: {len(report.differences)} differ; {report.differences[0][:300]}")
    for verdict in ("missing", "skipped"):
        print(f"{verdict}: {', '.join(report.name for report in reports if report.verdict == verdict) or 'none'}")
    print(summary(what, reports))


def summary(what: str, reports: list[Report]) -> str:
    """The counts in one line."""
    n = counts(reports)
    unlisted = sum(r.verdict in ("missing", "different") and not reason_for(r.name, r.verdict, what) for r in reports)
    return (
        f"{what}: {n['names']:,} names ({n['variants']:,} with variants): {n['provided']:,} provided; {n['agree']:,} "
        f"agree in all {n['samples']:,} samples, {n['different']} differ, {n['skipped']} PyTorch itself rejects; "
        f"{n['missing']} are missing; not in left.toml: {unlisted}"
    )


def counts(reports: list[Report]) -> dict[str, int]:
    """The number of names, and of each outcome; a name counts once, whatever its variants."""
    outcomes = list(by_name(reports).values())
    missing, agree = outcomes.count("missing"), outcomes.count("agrees")
    numbers = {"names": len(outcomes), "variants": len(reports), "samples": sum(r.samples for r in reports)}
    numbers |= {"provided": len(outcomes) - missing, "agree": agree, "different": outcomes.count("different")}
    return {**numbers, "skipped": outcomes.count("skipped"), "missing": missing}
