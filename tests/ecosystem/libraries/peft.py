"""PEFT: LoRA, IA3, prefixes and prompts on small transformers; adapters saved, read and merged."""

import tempfile

import peft
import torch
from torch import nn
from training import train
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

NO_DROPOUT = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}


def gpt2() -> GPT2LMHeadModel:
    """A small GPT-2 of random weights."""
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=64, n_positions=32, **NO_DROPOUT))


def bert() -> BertForSequenceClassification:
    """A small BERT of random weights."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForSequenceClassification(BertConfig(**sizes, **no_dropout, vocab_size=64))


def losses_of(model: nn.Module, **batch: torch.Tensor) -> list[float]:
    """The losses of AdamW's steps on one batch."""
    free = [p for p in model.parameters() if p.requires_grad]
    return train(torch.optim.AdamW(free, lr=1e-2), lambda: model(**batch).loss, 5)


def run() -> dict[str, object]:
    torch.manual_seed(0)
    ids = torch.randint(0, 64, (4, 10))
    text = {"input_ids": ids, "labels": ids}
    classes = {"input_ids": ids, "labels": torch.tensor([0, 1, 0, 1])}
    results: dict[str, object] = {}

    config = peft.LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn"])
    lora = peft.get_peft_model(gpt2(), config)
    results["lora"] = losses_of(lora, **text)
    results["trained"] = list(lora.get_nb_trainable_parameters())
    results["keys"] = sorted(peft.get_peft_model_state_dict(lora))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        adapted = lora.eval()(ids).logits
        lora.save_pretrained(folder)
        read = peft.PeftModel.from_pretrained(gpt2(), folder).eval()
        with read.disable_adapter():
            results["without"] = read(ids).logits
        merged = read.merge_and_unload()
        results["logits"], results["merged"] = adapted, merged(ids).logits
        results["ids"] = merged.generate(ids[:1], max_new_tokens=5, do_sample=False, pad_token_id=0)

    both = ["key", "output.dense"]
    for name, model, config, batch in (
        ("bert lora", bert, peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query", "value"]), classes),
        ("dora", gpt2, peft.LoraConfig(task_type="CAUSAL_LM", use_dora=True, target_modules=["c_proj"]), text),
        ("ia3", bert, peft.IA3Config(task_type="SEQ_CLS", target_modules=both, feedforward_modules=both[1:]), classes),
        ("prefix", gpt2, peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4), text),
        ("prompt", gpt2, peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4), text),
    ):
        results[name] = losses_of(peft.get_peft_model(model(), config), **batch)
    return results
