"""The forty kinds of models that must all hold."""

_KINDS = """
gpt2 bert roberta distilbert albert electra deberta-v2 t5 bart mbart pegasus marian llama qwen2 qwen3 qwen2_moe mistral
mixtral gemma gemma2 gemma3_text gpt_neo gpt_neox gptj gpt_oss opt bloom falcon phi phi3 mamba whisper wav2vec2 vit swin
clip deit xlnet olmo2 rwkv
"""
KINDS = _KINDS.split()
