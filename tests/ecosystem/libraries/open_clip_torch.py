"""OpenCLIP: a small CLIP trained on pictures and texts; its tokenizer and transforms."""

import numpy as np
import open_clip
import torch
from open_clip.loss import ClipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
from PIL import Image
from training import train


def run() -> dict[str, object]:
    torch.manual_seed(0)
    vision = CLIPVisionCfg(layers=2, width=32, head_width=16, patch_size=8, image_size=32)
    text = CLIPTextCfg(context_length=16, vocab_size=49408, width=32, heads=2, layers=2)
    model = CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text)
    tokens = open_clip.SimpleTokenizer(context_length=16)(["a photo of a cat", "a dog", "the sea", "two birds"])
    results: dict[str, object] = {"tokens": tokens}
    images = torch.randn(4, 3, 32, 32)
    optimizer, criterion = torch.optim.AdamW(model.parameters(), lr=1e-3), ClipLoss()
    results["losses"] = train(optimizer, lambda: criterion(*model(images, tokens)), 4)
    picture = Image.fromarray(np.arange(40 * 50 * 3, dtype=np.uint8).reshape(40, 50, 3))
    preprocessed = open_clip.image_transform(32, is_train=False)(picture)
    with torch.no_grad():
        image = model.encode_image(preprocessed[None], normalize=True)
        words = model.encode_text(tokens, normalize=True)
    results["preprocessed"], results["image"], results["words"] = preprocessed, image, words
    results["probabilities"] = (100 * image @ words.T).softmax(-1)
    return results
