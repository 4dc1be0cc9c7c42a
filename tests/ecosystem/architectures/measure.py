"""Measures a model with the same code on either library: ``import torch`` loads the one in this process.

Everything runs in eval mode and float32 (or float64, see ``worker.py``). The loss is the mean squared difference from
fixed numbers, summed over all floating outputs, including the model's own loss, so that gradients depend on every
output. (Zeros would not do: the mean square of a normalised output is constant, and its gradient is only rounding.)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

STEPS, NEW_TOKENS = 5, 8
Arrays = dict[str, Any]
HUGE = 1e6  # larger numbers, which masks put into logits, do not enter the loss


def measure(model: Any, inputs: Arrays, generates: bool = True) -> tuple[Arrays, str]:
    """Outputs, gradients, five losses and generated ids by name; and why there are no ids, or ""."""
    import torch

    model.eval()
    tensors = {name: torch.tensor(value) for name, value in inputs.items()}
    tensors = {name: x.to(model.dtype) if x.is_floating_point() else x for name, x in tensors.items()}
    result, why = _generate(model, tensors) if generates else ({}, "")
    loss, outputs = loss_and_outputs(model, tensors)
    result |= {f"output.{name}": host(value) for name, value in outputs}
    loss.backward()
    result |= {f"gradient.{name}": host(p.grad) for name, p in model.named_parameters() if p.grad is not None}
    result["losses"] = np.array(_train(model, tensors))
    return result, why


def host(value: Any) -> Any:
    """A tensor as a new array."""
    return np.array(value.detach().cpu().numpy())


def loss_and_outputs(model: Any, tensors: Arrays) -> tuple[Any, list[tuple[str, Any]]]:
    """The loss, and the model's tensor outputs by name."""
    import inspect

    import torch

    torch.manual_seed(0)
    np.random.seed(0)
    uncached = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
    outputs = list(flatten("", model(**tensors, **uncached)))
    parts = [value for _, value in outputs if value.is_floating_point() and value.numel()]
    finite = [torch.where((part.abs() < HUGE), part, torch.zeros_like(part)) for part in parts if part.requires_grad]
    fixed = [torch.tensor(np.cos(np.arange(p.numel())).reshape(p.shape), dtype=p.dtype) for p in finite]  # from -1 to 1
    return sum((part - target).pow(2).mean() for part, target in zip(finite, fixed, strict=True)), outputs


def flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors in a model's output, except keys and values of earlier tokens."""
    import torch

    if isinstance(value, torch.Tensor):
        yield name.strip("."), value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(f"{name}.{key}", item)
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from flatten(f"{name}.{i}", item)


def _train(model: Any, tensors: Arrays) -> list[float]:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss, _ = loss_and_outputs(model, tensors)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _generate(model: Any, tensors: Arrays) -> tuple[Arrays, str]:
    """Ids from greedy search and beam search, for a model that generates."""
    import torch

    if not (hasattr(model, "can_generate") and model.can_generate()):
        return {}, "the model does not generate"
    prompt = {name: value.clone() for name, value in tensors.items() if name not in ("labels", "decoder_input_ids")}
    result: Arrays = {}
    for beams in (1, 3):
        torch.manual_seed(0)
        with torch.no_grad():
            output = model.generate(**prompt, max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=beams)
        result |= {f"generated.{beams}.{name}": host(value) for name, value in flatten("", output)}
    return result, ""
