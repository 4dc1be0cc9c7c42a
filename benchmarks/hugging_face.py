"""Models of the transformers library, unchanged, on minigrad in PyTorch's place and on PyTorch.

    python -m benchmarks.hugging_face [--rounds 5] [--seconds 3]

What is measured: the import of the library with GPT-2's model; BertModel of MiniLM's size (6 layers of width 384) on
32 sentences of 64 tokens; and 64 tokens, one by one, by GPT-2 of 4 layers of width 256; each with all threads and with
one. Weights are random, from one seed: what the two compute must be equal. Each has a process of its own, in turns.
Times are the least of all rounds, which is what a machine that does something else as well disturbs least.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .machine import describe
from .process import Answer, Differ, alternate, ask, library_module, progress
from .steps import repeat
from .table import Table, ratio

LIBRARIES = ("minigrad", "torch")
BATCH, LENGTH, VOCABULARY, TOKENS = 32, 64, 1000, 64
TOLERANCE = 1e-4
GOAL = 1.0


def the_torch(library: str) -> Any:
    """``torch`` as a program imports it. Raises Missing: it is not installed, or transformers is not."""
    if library == "minigrad":
        from minigrad.compat import as_torch

        as_torch()
    return library_module("torch")


def encoder(torch: Any) -> Callable[[], Any]:
    """The states (B, T, D) of sentences, half of them shorter."""
    transformers = library_module("transformers")
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=VOCABULARY, **sizes)).eval()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long)
    mask[::2, LENGTH - LENGTH // 4 :] = 0
    run = torch.no_grad()(model)
    return lambda: run(input_ids=ids, attention_mask=mask).last_hidden_state


def generation(torch: Any) -> Callable[[], Any]:
    """The ids (1, T) of a text that is continued greedily, with the library's cache."""
    transformers = library_module("transformers")
    sizes = {"n_layer": 4, "n_embd": 256, "n_head": 4, "n_positions": 2 * TOKENS}
    ends = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=VOCABULARY, **sizes, **ends)).eval()
    ids = torch.randint(1, VOCABULARY, (1, 8))
    return lambda: model.generate(ids, max_new_tokens=TOKENS, do_sample=False)


WORK: dict[str, Callable[[Any], Callable[[], Any]]] = {
    f"BertModel, 6 × 384, {BATCH} × {LENGTH} tokens": encoder,
    f"generate, GPT-2 of 4 × 256, {TOKENS} tokens": generation,
}


def prepared(library: str, work: str, threads: int) -> Callable[[], Any]:
    """A work on a library; with 0 threads on as many as it takes by itself. Raises Missing."""
    torch = the_torch(library)
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    return WORK[work](torch)


def check(library: str, work: str) -> Answer:
    """The first numbers of the result."""
    return {"numbers": prepared(library, work, 1)().flatten()[:200].tolist()}


def measure(library: str, work: str, threads: int, seconds: float) -> Answer:
    """The least time of a work in ms."""
    return {"time": min(repeat(prepared(library, work, threads), seconds, warm_up=1, least=2))}


def imported(library: str) -> Answer:
    """The time in ms until the library with a model can be used, PyTorch's own import included. Raises Missing."""
    start = time.perf_counter()
    the_torch(library)
    library_module("transformers")
    library_module("transformers.models.gpt2.modeling_gpt2")
    return {"time": 1000 * (time.perf_counter() - start)}


def agree(work: str, answers: dict[str, Answer]) -> None:
    """See to it that both have computed the same.

    Raises:
        Differ: they have not.
    """
    there = [answer["numbers"] for answer in answers.values() if "missing" not in answer]
    for numbers in there[1:]:
        if (largest := max(abs(a - b) for a, b in zip(there[0], numbers, strict=True))) > TOLERANCE:
            raise Differ(f"{work}: results differ by {largest:.1e} between minigrad and PyTorch")


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for the import, and one for each work and number of threads."""
    columns = ("transformers", "threads", "minigrad (ms)", "PyTorch (ms)", "over PyTorch's", "goal")
    result = Table("Models of transformers, unchanged", columns, ("", "", ",.0f", ",.0f", ".2f", ".1f"))

    def row(what: str, threads: str, asked: Callable[[str], Answer]) -> None:
        times = alternate(LIBRARIES, rounds, asked, what)
        both = [None if "missing" in a[0] else min(x["time"] for x in a) for a in times.values()]
        result.add(what, threads, *both, ratio(*both), GOAL)
        for name, answers in times.items():
            if (why := answers[0].get("missing")) and (note := f"{name}: {why}") not in result.notes:
                result.notes.append(note)

    ask("benchmarks.hugging_face:imported", "minigrad")  # it compiles what is not compiled yet
    row("import", "", partial(ask, "benchmarks.hugging_face:imported"))
    for work in WORK:
        progress(f"{work}: results")
        agree(work, {name: ask("benchmarks.hugging_face:check", name, work=work) for name in LIBRARIES})
        for threads, text in ((0, "all"), (1, "one")):
            options: dict[str, Any] = {"work": work, "threads": threads, "seconds": seconds}
            row(work, text, partial(ask, "benchmarks.hugging_face:measure", **options))
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each library (default: 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="in each process (default: 3)")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    given = parser.parse_args()
    print(describe("torch", "transformers"))
    measured = table(given.rounds, given.seconds)
    print(measured.markdown() if given.markdown else measured.text())


if __name__ == "__main__":
    main()
