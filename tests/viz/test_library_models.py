"""Unchanged models of the transformers library: one line each for graph, playback, attention, both linked,
explanation, trace, table and profile. They show the library's module names, lines and attention."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.on_minigrad import needs_transformers, printed

pytestmark = [needs_transformers, pytest.mark.nightly]

PROGRAM = """
import json, sys
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers import T5Config, T5ForConditionalGeneration
from minigrad import profiler, summary, viz

kind, attention = sys.argv[1:]
options = {"vocab_size": 50, "attn_implementation": attention}
wide = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
torch.manual_seed(0)
ids = torch.tensor([[3, 4, 5, 6, 7]])
if kind == "gpt2":
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, n_positions=32, **options))
elif kind == "bert":
    model = BertModel(BertConfig(**wide, **options))
elif kind == "t5":
    model = T5ForConditionalGeneration(
        T5Config(d_model=16, d_kv=8, num_layers=2, num_heads=2, d_ff=32, decoder_start_token_id=0, **options)
    )
else:
    model = LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, **wide, **options))
model.eval()
inputs = {"input_ids": ids} if kind == "bert" else {"input_ids": ids, "labels": ids[:, :4] if kind == "t5" else ids}

graph = viz.graph(model, **inputs)
attentions = viz.attention(model, **inputs)
for view, name in ((graph, "graph"), (attentions, "attention"), (viz.playback(model, **inputs), "playback")):
    view.save(f"{name}.html")
    view.save(f"{name}.svg")
viz.linked(model, **inputs).save("linked.html")

result = model(**inputs, output_attentions=attention == "eager")
loss = result.last_hidden_state.square().sum() if kind == "bert" else result.loss
weight = next(p for name, p in model.named_parameters() if name.endswith("weight") and "norm" not in name.lower())
explained = viz.explain(weight, of=loss)
table = summary(model, **inputs)
with profiler.profile() as profile:
    model(**inputs)
pairs = []
if attention == "eager":
    theirs = {"encoder": result.get("encoder_attentions"), "decoder": result.get("decoder_attentions")}
    theirs["cross"] = result.get("cross_attentions")
    if kind != "t5":
        theirs = {attentions.attentions[0].kind: result.attentions}
    for one in attentions.attentions:
        for layer, weights in zip(one.layers, theirs[one.kind], strict=True):
            pairs.append(float((torch.from_numpy(layer.weights) - weights[0]).abs().max()))
print(json.dumps({
    "modules": sorted({node.module for node in graph.graph.nodes if node.module}),
    "places": sorted({node.place.rpartition(":")[0] for node in graph.graph.nodes if node.place}),
    "lines": [node.code for node in graph.graph.nodes if node.op and "softmax" in node.op or node.op == "embedding"],
    "kinds": [[one.kind, len(one.layers), one.queries, one.keys] for one in attentions.attentions],
    "paths": [layer.path for one in attentions.attentions for layer in one.layers],
    "distances": pairs,
    "explained": str(explained),
    "table": str(table),
    "names": list(viz.trace(model, **inputs)),
    "profile": profile.key_averages().table(row_limit=500),
}))
"""
ATTENTION = {  # the path of the first layer's attention in each, and its file
    "gpt2": ("transformer.h.0.attn", "transformers/models/gpt2/modeling_gpt2.py"),
    "bert": ("encoder.layer.0.attention.self", "transformers/models/bert/modeling_bert.py"),
    "t5": ("encoder.block.0.layer.0.SelfAttention", "transformers/models/t5/modeling_t5.py"),
    "llama": ("model.layers.0.self_attn", "transformers/models/llama/modeling_llama.py"),
}
EACH = [("gpt2", "sdpa"), ("bert", "eager"), ("t5", "eager"), ("llama", "sdpa")]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[dict[str, Any], Path]]:
    """The program's output for a model and its kind of attention, and the folder of its pages."""

    @functools.cache
    def run(kind: str, attention: str) -> tuple[dict[str, Any], Path]:
        folder = tmp_path_factory.mktemp(f"{kind}_{attention}")
        return printed(PROGRAM, kind, attention, folder=folder), folder

    return run


@pytest.mark.parametrize("kind, attention", EACH)
def test_names_and_attention_match_the_model(kind: str, attention: str, program: Any) -> None:
    data, folder = program(kind, attention)
    path, file = ATTENTION[kind]
    assert any(module.startswith(path) for module in data["modules"])
    assert file in data["places"]
    assert not [place for place in data["places"] if not place.startswith(("transformers/", "minigrad/", "program.py"))]
    assert any(name.startswith(path) for name in data["names"])
    assert f" {path.rpartition('.')[2]} " in data["table"] and "nn.Module: " in data["profile"]
    assert (folder / "graph.html").stat().st_size < 500_000
    assert "formula" in data["explained"] and "rule" in data["explained"]

    source, target = list("34567"), list("0345")  # the decoder reads the labels, shifted by one
    side = "encoder" if kind == "bert" else "decoder"
    expected: list[Any] = [[side, 2, source, source]]
    if kind == "t5":
        expected = [["encoder", 2, source, source], ["decoder", 2, target, target], ["cross", 2, target, source]]
    assert data["kinds"] == expected
    assert data["paths"][0] == ATTENTION[kind][0]
    assert len(data["distances"]) == (len(data["paths"]) if attention == "eager" else 0)
    assert max(data["distances"], default=0) < 1e-6


PAGES = [("gpt2", "graph", "GPT2LMHeadModel"), ("t5", "attention", "Cross-attention"), ("bert", "linked", "BertModel")]


@pytest.mark.parametrize("kind, page, text", [*PAGES, ("llama", "playback", "Backward of LlamaForCausalLM")])
def test_pages_open(kind: str, page: str, text: str, program: Any, open_file: Callable[..., Any]) -> None:
    """The console shows no errors (``open_file`` checks this), and the page names the model."""
    _, folder = program(kind, dict(EACH)[kind])
    opened = open_file(folder / f"{page}.html", viewport={"width": 1280, "height": 800})
    assert text in opened.inner_text("body")
