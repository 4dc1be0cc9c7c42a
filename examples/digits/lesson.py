"""The lesson: what four networks of one size make of the same digits."""

from __future__ import annotations

from ..lesson.blocks import Chart, Choice, Lesson, Picture, Pictures, Section, Series, Steps, Text
from . import insight
from .checks import claims
from .results import DISTANCES, Results
from .shifts import lost
from .train_digits import BATCH, REACH, Trained

FEW = (0, 3, 7)  # digits whose way through a network is shown
READS = {  # how each takes in a digit
    "fully-connected": "all 64 pixels at once, each by a weight of its own",
    "convolutional": "3 × 3 pixels at a time, everywhere by the same weights",
    "recurrent": "one row after another, from the top",
    "transformer": "nine overlapping patches of 4 × 4 pixels, each of which looks at all others",
}


def lesson(results: Results) -> Lesson:
    """The page of some results."""
    return Lesson(
        "digits",
        "Four architectures read digits",
        "A fully-connected, a convolutional and a recurrent network and a transformer learn the same "
        "handwritten digits. They have the same number of parameters, the same examples and as many updates; "
        "what differs is what each can see.",
        (
            _task(results),
            _accuracy(results),
            _curves(results),
            _fully_connected(results),
            _convolutional(results),
            _recurrent(results),
            _transformer(results),
            _shifts(results),
            _misread(results),
            Section("Checked", claims(results)),
        ),
    )


def _task(results: Results) -> Section:
    kept, held_out = len(results.kept.labels), len(results.held_out.labels)
    digits = insight.one_of_each(results.held_out)
    return Section(
        "1. The task",
        (
            Text(
                f"1,797 digits that thirteen people wrote, of 8 × 8 pixels (E. Alpaydin and C. Kaynak, UCI, "
                f"CC BY 4.0). A third, {held_out}, is held out; the networks learn from the other {kept:,}. "
                f"Those that are held out were chosen at random, so they come from the same thirteen hands."
            ),
            Pictures(
                "One of each, held out",
                [Picture(image, str(label)) for image, label in zip(*digits, strict=True)],
                printed=range(5),
            ),
            Steps(("network", "reads"), list(READS.items())),
        ),
    )


def _accuracy(results: Results) -> Section:
    seeds = len(next(iter(results.repeated.values())))
    several = (f"mean of {seeds} seeds, %", "least, %") if seeds > 1 else ()
    rows = []
    for name, (one, other) in results.pairs.items():
        accuracies = results.repeated[name]
        over = (_percent(sum(accuracies) / seeds), _percent(min(accuracies))) if several else ()
        rows.append(
            (
                name,
                f"{one.parameters:,}",
                _percent(one.accuracies[-1]),
                *over,
                _percent(other.accuracies[-1]),
                f"{one.seconds:.1f}",
            )
        )
    head = ("network", "parameters", "held out, %", *several, "after shifts in training, %", "training, seconds")
    return Section(
        "2. How well they read",
        (
            Text(
                f"Each is trained for {_epochs(results.epochs)} in batches of {BATCH} by AdamW, on the digits "
                f"as they are; then another one of its kind on digits that are shifted at random by up to "
                f"{REACH} pixels. The table has the part of the held-out digits, not shifted, that each "
                f"reads, and the time of the first training on this machine. One digit more or less is "
                f"{100 / len(results.held_out.labels):.2f} %."
            ),
            Steps(head, rows, numbers=tuple(range(1, len(head)))),
        ),
    )


def _curves(results: Results) -> Section:
    trained = results.in_place
    losses = [Series(name, one.updates, one.losses) for name, one in trained.items()]
    errors = [_errors(one) for one in trained.values()]
    return Section(
        "3. How they learn",
        (
            Chart(
                "Loss on the digits to learn from",
                "updates",
                "cross-entropy, dropout at work",
                losses,
                log_y=True,
                digits=4,
            ),
            Chart("Held-out digits that are misread", "updates", "%", errors, log_y=True, digits=1),
        ),
    )


def _errors(one: Trained) -> Series:
    """What part of the held-out digits it misreads, in per cent, wherever that is not 0, which has no logarithm."""
    points = [(x, 100 * (1 - y)) for x, y in zip(one.updates, one.accuracies, strict=True) if y < 1]
    return Series(one.name, [x for x, _ in points], [y for _, y in points])


def _fully_connected(results: Results) -> Section:
    return Section(
        "4. The fully-connected network: whole templates",
        (
            Text(
                "A hidden unit has a weight for each of the 64 pixels, which is shown where its pixel "
                "stands: ink on blue makes the unit answer, ink on red keeps it quiet. Below it stand the "
                "digit that it speaks for most, and the one that it speaks against most."
            ),
            insight.weights(results.in_place["fully-connected"].model),
        ),
    )


def _convolutional(results: Results) -> Section:
    digit = insight.one_of_each(results.held_out, (7,)).images[0]
    first, maps = insight.filters(results.in_place["convolutional"].model, digit)
    return Section(
        "5. The convolutional network: edges and strokes",
        (
            Text(
                "A filter has nine weights and is laid over every place of the image. What comes out is a "
                "map of where it answers: along an edge of one direction, on a stroke, at an end. The second "
                "layer combines such maps."
            ),
            first,
            Pictures("The digit", (Picture(digit, "a 7"),), side=6),
            maps,
        ),
    )


def _recurrent(results: Results) -> Section:
    kept, said = insight.states(results.in_place["recurrent"].model, insight.one_of_each(results.held_out, FEW))
    return Section(
        "6. The recurrent network: what it knows after each row",
        (
            Text(
                "The network reads a row of pixels, changes its state, and reads the next one. To the right "
                "of each digit stands its state after each row: a column is one number of the state, blue "
                "above 0 and red below."
            ),
            kept,
            Text(
                "Its last layer reads the state after the last row. Applied to the earlier ones as well, it "
                "says what the network would answer if the digit ended there; a column is a digit from 0 to "
                "9, in full ink where it is sure."
            ),
            said,
        ),
    )


def _transformer(results: Results) -> Section:
    return Section(
        "7. The transformer: where it looks",
        (
            Text(
                "The class token gathers what the answer is made from. Each of its heads gives every patch a "
                "weight: shown is the weight of each, in full ink at the largest. (The token's weight of itself is "
                "left out.) In the first layer it has seen nothing yet, and asks the same of every digit; "
                "what it gets depends on what the patches hold."
            ),
            insight.attention(results.in_place["transformer"].model, insight.one_of_each(results.held_out, FEW)),
        ),
    )


def _shifts(results: Results) -> Section:
    def chart(title: str, which: int) -> Chart:
        series = [Series(name, DISTANCES, [100 * y for y in both[which]]) for name, both in results.shifted.items()]
        return Chart(title, "shift, pixels", "held-out digits that are read, %", series, digits=1)

    gone = ", ".join(f"{_percent(lost(results.held_out.images, d))} % at {d}" for d in DISTANCES[1:])
    return Section(
        "8. Shifted",
        (
            Text(
                f"Now the held-out digits are shifted to the right, left, down and up, and the mean of the "
                f"four is taken. What leaves the frame is lost: of the ink {gone}. A network that has only "
                f"seen digits in their place has no reason to expect them elsewhere."
            ),
            chart("Trained on digits in their place", 0),
            Text(
                f"The same networks after a training in which each digit was shifted, anew in every epoch, by "
                f"up to {REACH} pixels along both axes:"
            ),
            chart("Trained on shifted digits", 1),
        ),
    )


def _misread(results: Results) -> Section:
    options = []
    for one in results.in_place.values():
        wrong = insight.misread(one.model, results.held_out)
        title = f"{len(wrong)} of {len(results.held_out.labels)} held-out digits are misread"
        options.append(Pictures(title, wrong, printed=range(min(5, len(wrong)))) if wrong else Text(f"{title}."))
    return Section("9. What they misread", (Choice("network", list(results.in_place), options),))


def _percent(part: float) -> str:
    return f"{100 * part:.1f}"


def _epochs(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"
