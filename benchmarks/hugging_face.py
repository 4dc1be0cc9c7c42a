"""Runs models of Hugging Face's transformers, unchanged, on minigrad and on PyTorch.

A first process creates each model with random weights and saves its folder. Each measurement is a process that loads
the folder: the time from the import of its library to its first answer, the time of later answers, and its peak memory.
On minigrad, the process never imports PyTorch. If ONNX Runtime is installed, it computes the encoder as well. All
answers must agree.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .compare import agree
from .process import Answer, Missing, alternate, ask, library_module, middle, peak_mebibytes
from .steps import repeat
from .table import Table, ratio

LIBRARIES = ("minigrad", "torch", "onnxruntime")
TOLERANCE = 2e-3  # of hidden states and losses; generated tokens must be equal


class Case(NamedTuple):
    """A model of transformers, the shape of its input, and the goal for the ratio of times."""

    model: str
    config: dict[str, Any]
    shape: tuple[int, ...]
    goal: float
    tokens: int = 0  # to generate greedily
    training: bool = False


ENCODER = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
BERT = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
GPT = {"n_embd": 512, "n_layer": 8, "n_head": 8, "n_positions": 256}
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 2}
LLAMA = {"hidden_size": 512, "num_hidden_layers": 8, "intermediate_size": 1408, **HEADS}
T5 = {"decoder_start_token_id": 0, "d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 4, "num_heads": 4}
VIT = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
CASES = {
    "MiniLM-sized encoder, one sentence of 16": Case("BertModel", ENCODER, (1, 16), 0.85),
    "the same, 32 sentences of 64": Case("BertModel", ENCODER, (32, 64), 0.85),
    "GPT-2 8 × 512, 64 tokens": Case("GPT2LMHeadModel", GPT, (1, 16), 0.85, 64),
    "Llama 8 × 512, grouped queries, 64 tokens": Case("LlamaForCausalLM", LLAMA, (1, 16), 0.85, 64),
    "the same, a prompt of 512": Case("LlamaForCausalLM", LLAMA, (1, 512), 1.0),
    "T5 4 + 4 × 256, 8 sentences, 32 tokens": Case("T5ForConditionalGeneration", T5, (8, 16), 1.0, 32),
    "ViT-tiny, 4 pictures": Case("ViTModel", VIT, (4, 3, 224, 224), 1.0),
    "BERT 4 × 256, a training step of 16 × 64": Case("BertForMaskedLM", BERT, (16, 64), 1.0, training=True),
    "GPT-2 8 × 512, a training step of 8 × 128": Case("GPT2LMHeadModel", GPT, (8, 128), 1.0, training=True),
}


def imported(library: str) -> tuple[Any, Any]:
    """PyTorch's names from a library, and transformers on them."""
    if library == "minigrad":
        from minigrad.compat import as_torch

        as_torch()
    return library_module("torch"), library_module("transformers")


def create(library: str, case: list[Any], folder: str) -> Answer:
    """Save a model with random weights: its folder, and for the encoder a file for ONNX Runtime."""
    torch, transformers = imported(library)
    kind = getattr(transformers, Case(*case).model)
    torch.manual_seed(0)
    model = kind(kind.config_class(**Case(*case).config)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:  # large enough for tokens to differ
                weight.normal_(std=0.05)
    model.save_pretrained(folder)
    if kind.__name__ == "BertModel" and find_spec("onnxruntime"):
        export(torch, model, Path(folder, "model.onnx"))
    return {}


def export(torch: Any, model: Any, file: Path) -> None:
    """Write a model for ONNX Runtime, with any number of sentences of any length."""

    class States(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any) -> Any:
            return self.model(ids).last_hidden_state

    model.set_attn_implementation("eager")
    axes = {"ids": {0: "batch", 1: "time"}}
    torch.onnx.export(
        States(), (torch.ones(2, 5, dtype=torch.int64),), file, input_names=["ids"], dynamic_axes=axes, dynamo=False
    )


def job(library: str, case: Case, folder: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A function that computes the answer, and the function to be timed: the same, or a training step."""
    import numpy as np

    draw = np.random.default_rng(1)
    inputs = draw.standard_normal(case.shape, np.float32) if len(case.shape) > 2 else draw.integers(5, 999, case.shape)
    if library == "onnxruntime":
        session = library_module(library).InferenceSession(Path(folder, "model.onnx"))
        encode = partial(session.run, None, {"ids": inputs})
        return lambda: encode()[0][:, 0], encode
    torch, transformers = imported(library)
    model, x = getattr(transformers, case.model).from_pretrained(folder), torch.from_numpy(inputs)
    if case.training:
        adam = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def step() -> Any:
            adam.zero_grad()
            model.train()(x, labels=x).loss.backward()
            adam.step()

        return lambda: model.eval()(x, labels=x).loss.detach(), step
    length = {"max_new_tokens": case.tokens, "min_new_tokens": case.tokens, "do_sample": False}
    ends = {"eos_token_id": None, "pad_token_id": 0}

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def compute() -> Any:
        if case.tokens:
            return model.generate(x, attention_mask=torch.ones_like(x), **length, **ends)
        out = model(x)
        return (out.logits if "logits" in out else out.last_hidden_state)[:, -1 if "logits" in out else 0]

    return compute, compute


def measure(library: str, case: list[Any], folder: str, seconds: float) -> Answer:
    """The answer, seconds until the first one, the median time in ms of later ones, and the peak memory in MiB."""
    start = time.perf_counter()
    if library == "onnxruntime" and not Path(folder, "model.onnx").exists():
        raise Missing("ONNX Runtime computes only the encoder")
    answer, timed = job(library, Case(*case), folder)
    result = answer()
    first, values = time.perf_counter() - start, result.tolist()
    took = median(repeat(timed, seconds, 2, 2))
    return {"answer": values, "first": first, "time": took, "memory": peak_mebibytes()}


def table(rounds: int, seconds: float, cases: dict[str, Case] = CASES) -> Table:
    """The table, with a row for each model and library. The ratios are to PyTorch."""
    columns = (
        "model",
        "library",
        "ms",
        "ratio",
        "goal",
        "first answer s",
        "ratio of first",
        "peak MiB",
        "ratio of MiB",
    )
    result = Table("Models of transformers, unchanged", columns, ("", "", ".1f", *[".2f"] * 4, ".0f", ".2f"))
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            created = ask("benchmarks.hugging_face:create", "torch", case=case, folder=folder)
            if "missing" in created:
                result.notes = [created["missing"]]
                break
            run = partial(ask, "benchmarks.hugging_face:measure", case=case, folder=folder, seconds=seconds)
            answers = alternate(LIBRARIES, rounds, run, name)
        firsts = {library: each[0] for library, each in answers.items() if "missing" not in each[0]}
        agree(name, {library: {"answer": first["answer"]} for library, first in firsts.items()}, TOLERANCE)
        theirs = {field: middle(answers["torch"], field) for field in ("time", "first", "memory")}
        for library in firsts:
            took, first, memory = ((value := middle(answers[library], f), ratio(value, theirs[f])) for f in theirs)
            result.add(name, library, *took, case.goal if library == "minigrad" else None, *first, *memory)
    return result
