"""What the rules of ``shrink.py`` and ``inputs.py`` do not find out about an architecture.

``create`` are arguments of the configuration's constructor, ``set`` changes of the small configuration.
"""

from __future__ import annotations

from typing import Any

# Models with rotary embeddings for time, height and width, whose sections their code knows and no configuration.
_MROPE = """
cohere_compass cosmos3_edge ernie4_5_vl_moe glm4v glm4v_moe glm_image glm_ocr hunyuan_vl neomme paddleocr_vl
qwen2_5_omni qwen2_5_omni_thinker qwen2_5_vl qwen2_vl qwen3_5 qwen3_5_moe qwen3_omni_moe qwen3_omni_moe_thinker qwen3_vl
qwen3_vl_moe qwen4_exp
"""
MROPE = frozenset(_MROPE.split())
_EFFICIENT_NET = {"depth_coefficient": 1.0, "width_coefficient": 1.0, "hidden_dim": 1280}
_TIME_SERIES = {"create": {"prediction_length": 8}, "set": {"context_length": 16, "lags_sequence": [1, 2, 3]}}
_EMU3_TOKENS = {"<image>": 5, "<|extra_200|>": 6, **{f"<|visual token {i:06}|>": 40 + i for i in range(40)}}
OVERRIDES: dict[str, dict[str, Any]] = {
    "align": {"set": {"vision_config": _EFFICIENT_NET}},
    "autoformer": _TIME_SERIES,
    "blip-2": {"set": {"image_token_index": 120}},
    "chameleon": {"set": {"vocabulary_map": {**_EMU3_TOKENS, **{f"IMGIMG{chr(65 + i)}Z": 40 + i for i in range(26)}}}},
    "esm": {"set": {"pad_token_id": 1, "mask_token_id": 2}},
    "instructblip": {"set": {"image_token_index": 120}},
    "efficientnet": {"set": _EFFICIENT_NET},
    "emu3": {"set": {"vocabulary_map": _EMU3_TOKENS}},
    "informer": _TIME_SERIES,
    "time_series_transformer": _TIME_SERIES,
    "whisper": {"set": {"max_source_positions": 50, "max_target_positions": 64}},
}
