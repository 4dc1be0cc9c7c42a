"""Small models of the transformers library with random weights, to compare with; PyTorch runs them."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg

MISSING = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
needs_transformers = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

SMALL_GPT2 = dict(
    vocab_size=31,
    n_positions=16,
    n_embd=12,
    n_head=3,
    n_layer=2,
    **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
    **dict.fromkeys(("bos_token_id", "eos_token_id")),
    pad_token_id=0,
    attn_implementation="eager",
)


def published(kind: str, configuration: str, **sizes: Any) -> Any:
    """A model of the library by the names of its class and its configuration's, in evaluation mode.

    All weights are random, those of norms and biases, too: none can be forgotten or confused with another.
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
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    dropouts = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    return published(
        kind, "GPT2Config", **{**SMALL_GPT2, **ends, **dropouts, "attn_implementation": "eager", **changes}
    )


def saved(model: Any, folder: Path) -> Path:
    """The folder, with the files that the library writes."""
    model.save_pretrained(folder)
    return folder


def in_torch(x: mg.Tensor) -> Any:
    """A tensor of ours as one of PyTorch's."""
    return importlib.import_module("torch").from_numpy(x.numpy().copy())
