"""the pages of a small BERT's attention, by heads and by model"""

import re

import torch
from bertviz import head_view, model_view
from transformers import BertConfig, BertModel


def run() -> dict[str, object]:
    config = BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        attn_implementation="eager",
    )
    model = BertModel(config).eval()
    tokens = ["[CLS]", "the", "cat", "[SEP]", "a", "mat", "[SEP]"]
    attention = model(torch.randint(0, 30, (1, len(tokens))), output_attentions=True).attentions
    pages = [
        head_view(attention, tokens, sentence_b_start=4, html_action="return").data,
        model_view(attention, tokens, html_action="return").data,
    ]
    number = r"-?\d+\.\d+(?:e-?\d+)?"
    name = r"bertviz-[0-9a-f]+"  # drawn anew each time
    return {
        "attention": attention,
        "numbers": [[float(found) for found in re.findall(number, page)] for page in pages],
        "text": [re.sub(name, "", re.sub(number, "0", page)) for page in pages],
    }
