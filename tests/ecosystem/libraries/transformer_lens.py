"""a small GPT-2 whose activations are read, ablated and attributed: losses, logits, caches, gradients"""

import torch
from training import train
from transformer_lens import TransformerBridge
from transformer_lens.model_bridge.sources import build_bridge_from_module
from transformers import GPT2Config, GPT2LMHeadModel


def run() -> dict[str, object]:
    config = GPT2Config(
        vocab_size=50, n_positions=24, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager", bos_token_id=0
    )
    inner = GPT2LMHeadModel(config).eval()
    model = build_bridge_from_module(inner, "GPT2LMHeadModel", hf_config=inner.config)
    tokens = torch.randint(0, 50, (2, 20))
    logits, cache = model.run_with_cache(tokens)

    def without_a_head(z, hook):
        z = z.clone()
        z[:, :, 1] = 0
        return z

    ablated = model.run_with_hooks(tokens, return_type="loss", fwd_hooks=[("blocks.0.attn.hook_z", without_a_head)])
    gradients = {}

    def note(gradient, hook):
        gradients[hook.name] = gradient.clone()

    with model.hooks(bwd_hooks=[("blocks.0.hook_out", note), ("blocks.1.attn.hook_pattern", note)]):
        loss = model(tokens, return_type="loss")
        loss.backward()
    fields = {"n_layers": 1, "d_model": 16, "n_ctx": 24, "d_head": 8, "n_heads": 2, "d_vocab": 50, "act_fn": "gelu"}
    native = TransformerBridge.boot_native({**fields, "seed": 0})
    optimizer = torch.optim.AdamW(native.parameters(), lr=1e-2)
    losses = train(optimizer, lambda: native(tokens, return_type="loss"), 4)
    results = {"losses": losses, "trained": native.W_U, "logits": logits, "loss": loss, "names": sorted(cache.keys())}
    results["cache"] = {name: value for name, value in cache.items() if isinstance(value, torch.Tensor)}
    derivatives = {name: p.grad for name, p in inner.named_parameters() if p.grad is not None}
    return {**results, "ablated": ablated, "gradients": gradients, "parameters' gradients": derivatives}
