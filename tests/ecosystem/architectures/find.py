"""The architectures in transformers: model types, and for each the class with the most specific head."""

from typing import Any

# The first of these mappings that contains a type sets its class: tasks that exercise most of a model come first.
_TASKS = """
FOR_SPEECH_SEQ_2_SEQ FOR_SEQ_TO_SEQ_CAUSAL_LM FOR_MASKED_LM FOR_IMAGE_TEXT_TO_TEXT FOR_MULTIMODAL_LM FOR_CAUSAL_LM
FOR_CTC FOR_RNNT FOR_TDT FOR_IMAGE_CLASSIFICATION FOR_VIDEO_CLASSIFICATION FOR_OBJECT_DETECTION
FOR_ZERO_SHOT_OBJECT_DETECTION FOR_UNIVERSAL_SEGMENTATION FOR_INSTANCE_SEGMENTATION FOR_SEMANTIC_SEGMENTATION
FOR_DEPTH_ESTIMATION FOR_POSE_ESTIMATION FOR_IMAGE_TO_IMAGE FOR_IMAGE_MATTING FOR_MASK_GENERATION
FOR_KEYPOINT_DETECTION FOR_KEYPOINT_MATCHING FOR_TEXT_RECOGNITION FOR_TABLE_RECOGNITION FOR_AUDIO_CLASSIFICATION
FOR_TEXT_TO_SPECTROGRAM FOR_TEXT_TO_WAVEFORM FOR_TIME_SERIES_PREDICTION FOR_VISUAL_QUESTION_ANSWERING
FOR_QUESTION_ANSWERING FOR_PRETRAINING FOR_DECISION FOR_RETRIEVAL FOR_NORMAL_ESTIMATION FOR_POINTMAP_ESTIMATION
FOR_SEQUENCE_CLASSIFICATION FOR_TOKEN_CLASSIFICATION FOR_AUDIO_TOKENIZATION FOR_BACKBONE FOR_TEXT_ENCODING
"""
TASKS = _TASKS.split()
LANGUAGE = set(TASKS[:6])  # tasks whose labels are token ids
_KINDS = """
gpt2 bert roberta distilbert albert electra deberta-v2 t5 bart mbart pegasus marian llama qwen2 qwen3 qwen2_moe mistral
mixtral gemma gemma2 gemma3_text gpt_neo gpt_neox gptj gpt_oss opt bloom falcon phi phi3 mamba whisper wav2vec2 vit swin
clip deit xlnet olmo2 rwkv
"""
KINDS = _KINDS.split()  # the forty that must all work


def find() -> dict[str, tuple[str, str]]:
    """Model type -> (class, task) for every type that has a model."""
    from transformers.models.auto import modeling_auto as auto

    classes: dict[str, tuple[str, str]] = {}
    for task in [*TASKS, ""]:
        names = (f"MODEL_{task}_MAPPING_NAMES", f"MODEL_{task}_NAMES") if task else ("MODEL_MAPPING_NAMES",)
        mapping: dict[str, Any] = next(getattr(auto, name) for name in names if hasattr(auto, name))
        for kind, name in mapping.items():
            classes.setdefault(kind, (name if isinstance(name, str) else name[0], task))
    return classes


def distinct(classes: dict[str, tuple[str, str]]) -> list[str]:
    """The types, sorted; of several types with the same class, the one after which it is named."""

    def rank(kind: str) -> tuple[bool, int, str]:
        name = kind.replace("-", "").replace("_", "")
        return not classes[kind][0].lower().startswith(name), len(kind), kind

    first: dict[str, str] = {}
    for kind in sorted(classes, key=rank):
        first.setdefault(classes[kind][0], kind)
    return sorted(first.values())
