"""Exceptions to the rules of ``shrink.py`` and ``inputs.py`` for single architectures.

``create`` lists arguments of the configuration's constructor, ``set`` lists changes to the small configuration.
"""

from typing import Any

# Models with rotary embeddings for time, height and width, whose sections are in the code, not in the configuration.
_MROPE = """
cohere_compass cosmos3_edge ernie4_5_vl_moe glm4v glm4v_moe glm_image glm_ocr hunyuan_vl neomme paddleocr_vl
qwen2_5_omni qwen2_5_omni_thinker qwen2_5_vl qwen2_vl qwen3_5 qwen3_5_moe qwen3_omni_moe qwen3_omni_moe_thinker qwen3_vl
qwen3_vl_moe qwen4_exp
"""
MROPE = frozenset(_MROPE.split())
_EFFICIENT_NET = {"depth_coefficient": 1.0, "width_coefficient": 1.0, "hidden_dim": 1280}
_EFFICIENT_NET |= {"in_channels": [32, 16, 24, 40, 80, 112, 192], "out_channels": [16, 24, 40, 80, 112, 192, 320]}
_TIME_SERIES = {"create": {"prediction_length": 8, "context_length": 16, "lags_sequence": [1, 2, 3]}}
_WIDE_HEADS = {"set": {"head_dim": 16}}
_WIDE_PICTURES = {"set": {"image_size": 224}}  # a multiple of the window in each stage
_EMU3_TOKENS = {"<image>": 5, "<|extra_200|>": 6, **{f"<|visual token {i:06}|>": 40 + i for i in range(40)}}
OVERRIDES: dict[str, dict[str, Any]] = {
    "align": {"set": {"vision_config": _EFFICIENT_NET}},
    **dict.fromkeys(("autoformer", "informer", "time_series_transformer"), _TIME_SERIES),
    "blip-2": {"set": {"image_token_index": 120}},
    "chameleon": {"set": {"vocabulary_map": {**_EMU3_TOKENS, **{f"IMGIMG{chr(65 + i)}Z": 40 + i for i in range(26)}}}},
    "esm": {"set": {"pad_token_id": 1, "mask_token_id": 2}},
    "instructblip": {"set": {"image_token_index": 120}},
    "deepseek_v2": {"set": {"num_experts_per_tok": 2, "topk_group": 1, "n_group": 1}},
    **dict.fromkeys(("donut-swin", "swin"), _WIDE_PICTURES),
    "glpn": {"set": {"decoder_hidden_size": 16}},
    "efficientnet": {"set": _EFFICIENT_NET},
    "emu3": {"set": {"vocabulary_map": _EMU3_TOKENS}},
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text"), _WIDE_HEADS),
    "hunyuan_vl": {"set": {"text_config": {"head_dim": 16}}},
    "whisper": {"set": {"max_source_positions": 50, "max_target_positions": 64}},
}
