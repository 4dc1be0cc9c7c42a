"""Makes small configurations from transformers' default ones: every number with a known name is reduced.

There are three recipes, smallest first; the first that PyTorch builds and runs is used. ``small`` sets each width,
number of heads and so on to a fixed number, so that all parts agree; the others divide all sizes by the same number,
which keeps ratios that a model relies on, and do not change numbers of heads.
"""

import re
from typing import Any

from .overrides import MROPE, OVERRIDES

VOCABULARY, HEAD = 128, 16
RECIPES = ("small", "8", "2")

# Names (regular expressions) and the value of recipe ``small``. The first match counts.
SMALL: dict[str, int] = {
    r"(n_routed|num|num_local|moe_num|n)_experts|expert_num|num_moe_experts": 4,
    r"num_experts_per_tok(en)?|moe_k|moe_topk|num_selected_experts|expert_top_k|top_k_experts|moe_top_k": 2,
    r"n_group|topk_group|num_expert_group|mamba_n_groups|n_groups|mamba_ngroups": 1,
    r"(n|num|moe_num)_shared_experts?": 1,
    r"first_k_dense_replace|moe_layer_start_index": 1,
    r".*kv_heads|num_key_value_heads.*|num_kv_heads|multi_query_group_num|.*key_value_heads|linear_num_key_heads": 2,
    r"mamba_(num|n)_heads|mamba_n_heads": 8,
    r".*(attention_)?heads|n_heads?|num_heads|.*n_heads|attention_head_count|encoder_attention_heads": 4,
    r".*head_dim|d_kv|d_head|dim_head|kv_channels|attention_head_size|mamba_d_head|head_size|.*head_width": 16,
    r"(mamba_)?d_state|state_size|mamba_d_state|ssm_state_size": 8,
    r".*lora_rank|.*_lora_dim|time_step_rank|mamba_dt_rank|d_rank": 8,
    r"moe_intermediate_size|shared_expert_intermediate_size|.*expert.*(intermediate|ffn|hidden).*(size|dim)": 48,
    r".*intermediate_size.*|.*ffn_(hidden_)?(dim|size).*|d_ff|n_inner|d_inner|ffn_dim|mlp_dim|dim_ff": 96,
    r"hidden_size|d_model|n_embd|embed_dim|dim|d_embed|embedding_size|hidden_dim|projection_dim|.*_hidden_size": 64,
    r"(text|vision|encoder|decoder|output|projector|audio|proj|query|image|prompt|fusion).*_dim|d_embed|emb_dim": 64,
    r"out_hidden_size|pooler_output_size|output_size|.*_embed(s|ding)?_(dim|size)|d_proj|model_dim|width|channels": 64,
}
DEPTH = re.compile(r"(num_|n_)?(.*_)?(hidden_)?layers?|(.*_)?depth|num_.*blocks?|.*num_layers|.*_n_layers|n_layer")
NOT_DEPTH = re.compile(
    r".*(vision_feature|_layer_|kernel|attn_layer|moe_layer|index|adapter_layers|feat_extract|feature_layer).*"
)
VOCABULARIES = re.compile(r"(.*_)?vocab_size(_.*)?|n_vocab|num_embeddings|.*_vocab_size")
SIZES = re.compile(
    r".*(size|dim|dims|width|channels|sizes|rank|d_model|n_embd|d_ff|d_kv|channel|n_inner|state|filters|planes|hidden|features)"
)
KEPT = re.compile(
    r".*(patch|kernel|image|vocab|window|stride|num_channels|audio_channels|chunk|block|batch|crop|group|max_|type_|"
    r"conv_size|in_chans|input_size|feature_size|tile|mel|ring|scale|tokenizer|spatial|merge|dtype|grid|stft).*"
)
BACKBONE = ("stage_names", "out_features", "out_indices")
TOKENS = re.compile(r"(.*_)?(token|eos|bos|pad|sep|cls|mask|unk)_(ids?|index)|.*_token_(ids?|index)|.*token_id_.*")


def shrink(kind: str, recipe: str) -> Any:
    """The small configuration of a model type. Raises Exception: any error from the configuration's class."""
    from transformers import AutoConfig

    change = OVERRIDES.get(kind, {})
    config = AutoConfig.for_model(kind, **change.get("create", {}))
    tokens = _Tokens()
    tokens.mrope = kind.removesuffix("_text") in MROPE
    values = _shrunken(config.to_dict(), recipe, tokens)
    _merge(values, change.get("set", {}))
    return type(config).from_dict(values)


def _merge(values: dict[str, Any], change: dict[str, Any]) -> None:
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            _merge(values[name], value)
        else:
            values[name] = value


class _Tokens(dict[str, int]):
    """Ids of special tokens that fit into the vocabulary; the same name has the same id everywhere."""

    mrope = False  # whether the model has rotary embeddings for time, height and width

    def __missing__(self, name: str) -> int:
        self[name] = VOCABULARY - 1 - len(self) % 40
        return self[name]

    def fit(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self.fit(f"{name}.{i}", item) for i, item in enumerate(value)]
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        return self[name.replace("_index", "_id")] if value >= VOCABULARY - 41 else value


def _shrunken(values: dict[str, Any], recipe: str, tokens: _Tokens) -> dict[str, Any]:
    layers, length = _chosen_layers(values)
    if length > len(layers):  # a backbone's stages are its layers: it returns the last by default
        values = {name: value for name, value in values.items() if name not in BACKBONE}
    if "depths" in values:  # a pyramid of pictures keeps its number of stages
        layers, length = [], 0
        values = {**values, "depths": [min(depth, 2) for depth in values["depths"]]}
        values.pop("num_layers", None)
        if "embed_dim" in values:
            values.pop("hidden_size", None)
        recipe = "4" if recipe == "small" else recipe
    small = {name: _value(name, value, recipe, tokens, layers, length) for name, value in values.items()}
    if small.get("kv_lora_rank") and small.get("num_key_value_heads"):  # latent attention: all heads have their own
        small["num_key_value_heads"] = small["num_attention_heads"]
    return small


def _value(name: str, value: Any, recipe: str, tokens: _Tokens, layers: list[int], length: int) -> Any:
    if name == "per_layer_config":  # its keys are the numbers of removed layers
        return {}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value) and "label" not in name:
        inner = _shrunken(value, recipe, tokens)
        return _rope(inner, recipe, tokens.mrope) if "rope" in name else inner
    if TOKENS.fullmatch(name):
        return tokens.fit(name, value)
    if name == "vocab_size" and value is None:
        return VOCABULARY
    if isinstance(value, list):
        if length > len(layers) and len(value) == length and not name.endswith("_sizes"):
            return [value[i] for i in layers]
        if name == "num_block_repeats":
            return [min(item, 1) for item in value]
        if value and all(type(item) is int for item in value) and SIZES.fullmatch(name) and not KEPT.fullmatch(name):
            return [_divided(item, 4 if recipe == "small" else int(recipe)) for item in value]
        return value
    return _number(name, value, recipe, len(layers)) if type(value) is int else value


def _number(name: str, value: int, recipe: str, layers: int) -> int:
    if VOCABULARIES.fullmatch(name):
        return min(value, VOCABULARY)
    if DEPTH.fullmatch(name) and not NOT_DEPTH.fullmatch(name):
        return min(value, layers if "hidden_layers" in name or name in ("num_layers", "n_layer", "n_layers") else 2)
    if name in ("max_source_positions", "max_position_embeddings", "n_positions", "max_target_positions"):
        return min(value, 512)
    if name == "image_size":
        return min(value, 64) if recipe != "1" else min(value, 224)
    if recipe == "small":
        for pattern, small in SMALL.items():
            if re.fullmatch(pattern, name):
                return min(value, small)
        return value
    if re.fullmatch(next(iter(SMALL)), name):
        return min(value, 8)
    return _divided(value, int(recipe)) if SIZES.fullmatch(name) and not KEPT.fullmatch(name) else value


def _divided(value: int, by: int) -> int:
    return max(value // by, 4) if value >= 16 else value


def _rope(values: dict[str, Any], recipe: str, mrope: bool) -> dict[str, Any]:
    """Sections of rotary embeddings for time, height and width: together half of a head's rotated width."""
    inner: dict[str, Any]
    inner = {name: _rope(value, recipe, mrope) if isinstance(value, dict) else value for name, value in values.items()}
    if recipe == "small" and ("mrope_section" in inner or (mrope and "rope_type" in inner)):
        half = int(HEAD * inner.get("partial_rotary_factor", 1.0)) // 2
        inner["mrope_section"] = [half - 2 * (half // 3 or 1), half // 3 or 1, half // 3 or 1]
    elif "mrope_section" in inner:
        inner["mrope_section"] = [item // int(recipe) for item in inner["mrope_section"]]
    return inner


def _chosen_layers(values: dict[str, Any]) -> tuple[list[int], int]:
    """The layers to keep, at least two and one of each kind in the lists; and their original number."""
    names = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers")
    length = next((values[name] for name in names if type(values.get(name)) is int), 0)
    kinds = [v for k, v in values.items() if isinstance(v, list) and len(v) == length and "type" in k]
    first: dict[Any, int] = {}
    for i, kind in enumerate(zip(*kinds, strict=True)):
        first.setdefault(str(kind), i)
    layers = sorted(set(list(first.values())[:5]))
    for i in range(length):
        if len(layers) >= 2:
            break
        layers = sorted({*layers, i})
    return layers, length
