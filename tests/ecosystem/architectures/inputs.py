"""Small random inputs for the parameters of a model's ``forward``: candidates; the first that runs is used."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from .find import LANGUAGE
from .overrides import OVERRIDES

BATCH, LENGTH, FRAMES = 2, 7, 64
# Used if a model does not run without them.
OPTIONAL = {"bbox", "input_features_mask", "future_values", "future_time_features"}
Inputs = dict[str, Any]


def candidates(model: Any, kind: str, task: str) -> Iterator[Inputs]:
    """Inputs to try, as NumPy arrays: first with pictures and padding, then plainer ones."""
    override = OVERRIDES.get(kind, {}).get("inputs")
    if override:
        yield override(model.config)
        return
    parameters = inspect.signature(model.forward).parameters
    maker = _Maker(model, np.random.default_rng(0))
    fixed = [(name, p) for name, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [name for name, p in fixed if p.default is p.empty]
    main = [name for name in [model.main_input_name, *required] if name in parameters]
    text = "input_ids" in parameters and "vocab_size" in vars(maker.text) and "decoder_input_ids" not in main
    if text and "pixel_values" in parameters:
        yield from _safe(maker.picture_and_text, parameters)
        main = [*main, "input_ids", "pixel_values"]
    if "decoder_input_ids" in parameters and model.config.is_encoder_decoder:
        main.append("decoder_input_ids")
    elif text and "input_ids" not in main and not main:
        main.append("input_ids")
    for padded in ("attention_mask" in parameters, False):
        for variant in range(3):
            arrays = {name: maker.make(name, variant) for name in dict.fromkeys(main)}
            if any(value is None for value in arrays.values()):
                continue
            if "input_ids" in arrays:
                if padded:
                    arrays["attention_mask"] = maker.mask(model.config.is_encoder_decoder or "MASKED" in task)
                arrays.update(maker.labels(arrays, task, parameters))
            yield arrays
            extra = {name: maker.make(name, variant) for name in sorted(OPTIONAL & set(parameters))}
            if extra:
                yield {**arrays, **extra}
    if "input_ids" in parameters:  # only the text, for a model with several kinds of input
        arrays = {"input_ids": maker.ids(LENGTH)}
        yield {**arrays, **maker.labels(arrays, task, parameters)}


def _safe(make: Any, *args: Any) -> list[Inputs]:
    try:
        return [make(*args)]
    except Exception:
        return []


class _Maker:
    """Makes arrays by the names of arguments."""

    def __init__(self, model: Any, rng: np.random.Generator) -> None:
        self.model, self.config, self.rng = model, model.config, rng
        self.text = model.config.get_text_config()
        special = {v for c in (self.config, self.text) for k, v in vars(c).items() if "token" in k and type(v) is int}
        entries = [*vars(self.text).items(), *vars(self.config).items()]
        vocabulary = next((v for k, v in entries if k.endswith("vocab_size") and v), 87)
        self.plain = [i for i in range(3, min(87, vocabulary)) if i not in special]

    def ids(self, length: int) -> Any:
        return self.rng.choice(self.plain, (BATCH, length))

    def mask(self, right: bool) -> Any:
        mask = np.ones((BATCH, LENGTH), np.int64)
        mask[1, slice(LENGTH - 2, None) if right else slice(0, 2)] = 0
        return mask

    def labels(self, arrays: Inputs, task: str, parameters: Any) -> Inputs:
        if task not in LANGUAGE or "labels" not in parameters:
            return {}
        return {"labels": arrays.get("decoder_input_ids", arrays["input_ids"])}

    def normal(self, *shape: int) -> Any:
        return self.rng.standard_normal(shape).astype(np.float32)

    def make(self, name: str, variant: int = 0) -> Any:
        """An argument's array; None where no rule knows the name."""
        rule = getattr(self, f"_{name}", None)
        return rule(variant) if rule else None

    def picture_and_text(self, parameters: Any) -> Inputs:
        """Text with as many picture tokens as the model makes of its pictures."""
        import torch

        config = self.config
        names = ("image_token_id", "image_token_index", "media_token_id", "image_soft_token_id")
        token = next(value for n in names if type(value := getattr(config, n, None)) is int)
        extra: Inputs = {}
        if "image_grid_thw" in parameters:
            pixels, extra["image_grid_thw"], each = self._hidden_states(0), self._grid_thw(0), 4
        else:
            pixels = self._pixel_values(0)
            with torch.no_grad():
                features = self.model.get_image_features(pixel_values=torch.from_numpy(pixels))
            features = getattr(features, "pooler_output", features)
            parts = features if isinstance(features, (list, tuple)) else [features]
            each = sum(part.numel() // part.shape[-1] for part in parts) // BATCH
        ids = np.concatenate([self.ids(2), np.full((BATCH, each), token), self.ids(3)], 1)
        arrays = {"input_ids": ids, "attention_mask": np.ones_like(ids), "pixel_values": pixels, **extra}
        for name in {"mm_token_type_ids", "token_type_ids"} & set(parameters):
            arrays[name] = (ids == token).astype(np.int64)
        return {**arrays, **({"labels": ids} if "labels" in parameters else {})}

    def _first(self, names: str, default: int) -> Any:
        """The first of these numbers in the configuration, or in its part for the input."""
        parts = [getattr(self.config, part, None) for part in ("vision_config", "audio_config", "encoder_config")]
        for config in [self.config, *filter(None, parts), getattr(self.config, "backbone_config", None)]:
            for name in names.split():
                value = getattr(config, name, None) if config is not None else None
                value = value[0] if isinstance(value, (list, tuple)) and value else value
                if type(value) is int:
                    return value
        return default

    def _input_ids(self, variant: int) -> Any:
        return self.ids(LENGTH)

    def _decoder_input_ids(self, variant: int) -> Any:
        return self.ids(4)

    _qformer_input_ids = _decoder_input_ids

    def _merge(self) -> int:
        return int(self._first("spatial_merge_size merge_size", 2))

    def _hidden_states(self, variant: int) -> Any:
        """Patches of pictures as rows, which merge to 2 x 2 patches."""
        patch, channels = self._first("patch_size", 14), self._first("in_channels in_chans num_channels", 3)
        width = channels * self._first("temporal_patch_size", 1) * patch**2
        return self.normal(BATCH * (2 * self._merge()) ** 2, width)

    def _image_grid_thw(self, variant: int) -> Any:
        return np.array([[1, 2 * self._merge(), 2 * self._merge()]] * BATCH)

    _grid_thw = _image_grid_thw

    def _input_features_mask(self, variant: int) -> Any:
        shape = self._input_features(variant).shape
        return np.ones((BATCH, shape[-1] if shape[-1] == FRAMES or variant != 1 else shape[1]), np.int64)

    def _future_values(self, variant: int) -> Any:
        return self.normal(BATCH, self._first("prediction_length", 8))

    def _future_time_features(self, variant: int) -> Any:
        return self.normal(BATCH, self._first("prediction_length", 8), self._first("num_time_features", 0))

    def _bbox(self, variant: int) -> Any:
        low = self.rng.integers(0, 20, (BATCH, LENGTH, 2))
        return np.concatenate([low, low + 5], -1)

    def _pixel_values(self, variant: int) -> Any:
        size = self._first("image_size input_size img_size image_size_", 64)
        size = [size, 64, 224][variant]
        channels = self._first("num_channels in_channels in_chans num_image_channels", 3)
        channels = channels if channels in (1, 3, 4) else 3
        frames, kind = self._first("num_frames", 0), self.config.model_type
        is_video = variant == 0 and "video" in type(self.model).__name__.lower() + kind
        if frames and (is_video or any(word in kind for word in ("timesformer", "vivit", "x_clip", "x-clip"))):
            return self.normal(BATCH, frames, channels, size, size)
        return self.normal(BATCH, channels, size, size)

    def _pixel_values_videos(self, variant: int) -> Any:
        size = self._first("image_size crop_size", 64)
        return self.normal(BATCH, self._first("num_frames frames_per_clip", 4), 3, size, size)

    def _input_values(self, variant: int) -> Any:
        mel, length = self._first("num_mel_bins", 0), self._first("max_length", 0)
        if mel and length and variant == 0:
            return self.normal(BATCH, length, mel)
        return self.normal(BATCH, 5200) if variant < 2 else self.normal(BATCH, 1, 4800)

    def _input_features(self, variant: int) -> Any:
        mel = self._first("num_mel_bins input_feat_per_channel feature_projection_input_dim mel_bins feature_size", 80)
        positions = self._first("max_source_positions", 0)
        if variant == 0 and positions and self._first("num_mel_bins", 0):
            return self.normal(BATCH, mel, 2 * positions)
        return self.normal(BATCH, FRAMES, mel) if variant < 2 else self.normal(BATCH, mel, FRAMES)

    def _past_values(self, variant: int) -> Any:
        length = self._first("context_length", 32)
        lags = getattr(self.config, "lags_sequence", None)
        channels = self._first("num_input_channels input_size", 1)
        shape = (BATCH, length + (max(lags) if lags else 0)) + ((channels,) if variant == 0 and channels > 1 else ())
        return self.normal(*(shape if variant < 2 else (BATCH, length, channels)))

    def _past_time_features(self, variant: int) -> Any:
        lags = max(getattr(self.config, "lags_sequence", None) or [0])
        length = self._first("context_length", 32) + lags
        return self.normal(BATCH, length, max(self._first("num_time_features", 0), 0))

    def _past_observed_mask(self, variant: int) -> Any:
        return np.ones_like(self._past_values(variant))

    def _spectrogram(self, variant: int) -> Any:
        return self.normal(BATCH, 16, self._first("model_in_dim num_mel_bins", 80))
