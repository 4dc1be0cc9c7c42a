"""transformers: generation, the trainers, pipelines, collators and attention implementations, on tiny random models."""

import importlib
import logging
import os
import tempfile
import threading

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

hf.logging.set_verbosity_error()
logging.disable(logging.WARNING)

SENTENCES = [
    "the quick brown fox jumps over the lazy dog",
    "a model of language predicts the next word",
    "the capital of france is paris and it is old",
    "she reads books in the garden with her dog",
]
TINY = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
TINY |= {"num_attention_heads": 4, "max_position_embeddings": 96}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def llama(**options):
    torch.manual_seed(0)
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = hf.LlamaConfig(**TINY, **special, num_key_value_heads=2, initializer_range=0.3, **options)
    return hf.LlamaForCausalLM(config).eval()


def prompt(batch=2, length=6):
    return torch.randint(3, 64, (batch, length), generator=torch.Generator().manual_seed(1))


def tokenizer():
    """A WordLevel tokenizer of the sentences, with BERT's special tokens."""
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words.train_from_iterator(SENTENCES, trainers.WordLevelTrainer(special_tokens=special))
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{token[1:-1].lower()}_token": token for token in special}
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=64, **names)


def bpe():
    """A byte-level BPE of the sentences."""
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=64, special_tokens=["<pad>", "<s>", "</s>"], show_progress=False)
    pieces.train_from_iterator(SENTENCES, trainer)
    return hf.PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


# Generation -----------------------------------------------------------------------------------------------


def generation():
    """Token ids of every search and sampling method, from one seed."""
    model, ids = llama(), prompt()
    ways = {
        "greedy": {"do_sample": False},
        "beams": {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.8, "early_stopping": True},
        "top_p": {"do_sample": True, "top_p": 0.6, "temperature": 0.7},
        "top_h": {"do_sample": True, "top_h": 0.4},
        "typical_p": {"do_sample": True, "typical_p": 0.7},
        "eta": {"do_sample": True, "eta_cutoff": 0.02},
        "several": {"do_sample": True, "num_return_sequences": 3},
        "repetition": {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2},
        "encoder repetition": {"encoder_repetition_penalty": 1.3, "encoder_no_repeat_ngram_size": 2},
        "words": {"bad_words_ids": [[5], [7, 9]], "suppress_tokens": [11, 12], "sequence_bias": [[[4], 2.0]]},
        "begin": {"begin_suppress_tokens": [3, 4], "forced_eos_token_id": 2, "min_new_tokens": 4},
        "decay": {"exponential_decay_length_penalty": (3, 1.2), "renormalize_logits": True},
        "guidance": {"guidance_scale": 1.5},
        "lookup": {"prompt_lookup_num_tokens": 3},
        "static": {"cache_implementation": "static"},
        "no cache": {"use_cache": False},
        "chunked prefill": {"prefill_chunk_size": 4},
    }
    results = {}
    for name, options in ways.items():
        torch.manual_seed(0)
        several = ids[:1] if name == "lookup" else ids
        results[name] = model.generate(several, max_new_tokens=10, pad_token_id=0, **options)
    return results


def generation_of_many():
    """Other results of ``generate`` besides ids; a padded batch; an assistant model; a reused cache."""
    model, ids = llama(attn_implementation="eager"), prompt()
    kinds = ("scores", "logits", "attentions", "hidden_states")
    more = {"return_dict_in_generate": True, **{f"output_{kind}": True for kind in kinds}}
    out = model.generate(ids, max_new_tokens=6, num_beams=2, **more)
    scores = model.compute_transition_scores(out.sequences, out.scores, out.beam_indices, normalize_logits=False)
    results = {"sequences": out.sequences, "scores": out.sequences_scores, "transition": scores}
    results |= {"attention": out.attentions[-1][-1], "hidden": out.hidden_states[-1][-1]}
    results["logits"] = torch.stack(out.logits)
    mask = torch.ones_like(ids)
    mask[0, :2] = 0
    results["padded"] = model.generate(ids.masked_fill(mask == 0, 0), attention_mask=mask, max_new_tokens=8)
    results["assisted"] = model.generate(ids[:1], assistant_model=llama(), max_new_tokens=12)
    cache = hf.DynamicCache(config=model.config)
    first = model.generate(ids, past_key_values=cache, max_new_tokens=4)
    results["go on"] = model.generate(first, past_key_values=cache, max_new_tokens=4)
    results["cache length"] = cache.get_seq_length()
    cache.crop(-5)
    results["cropped"] = [cache.get_seq_length(), cache.layers[0].keys]
    sliding = hf.MistralForCausalLM(hf.MistralConfig(**TINY, num_key_value_heads=2, sliding_window=4)).eval()
    for cache in (None, "static"):
        options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "cache_implementation": cache}
        results[f"sliding {cache}"] = sliding.generate(ids, **options)
    return results


class AtMost(hf.StoppingCriteria):
    """Stops all rows at a length."""

    def __init__(self, length):
        self.length = length

    def __call__(self, input_ids, scores, **kwargs):
        return torch.full((input_ids.shape[0],), input_ids.shape[1] >= self.length, dtype=torch.bool)


class Even(hf.LogitsProcessor):
    """Allows only even ids."""

    def __call__(self, input_ids, scores):
        scores = scores.clone()
        scores[:, 1::2] = -float("inf")
        return scores


def stopping_and_streaming():
    """Stopping criteria, a custom processor, and a streamer in a thread."""
    model, ids, words = llama(), prompt(), bpe()
    results = {
        "at most": model.generate(ids, max_new_tokens=20, stopping_criteria=hf.StoppingCriteriaList([AtMost(9)])),
        "even": model.generate(ids, max_new_tokens=8, logits_processor=hf.LogitsProcessorList([Even()])),
        "string": model.generate(ids[:1], max_new_tokens=30, stop_strings=["e", "o"], tokenizer=words),
    }
    streamer = hf.TextIteratorStreamer(words, skip_prompt=True, timeout=60)
    options = {"streamer": streamer, "max_new_tokens": 8}
    thread = threading.Thread(target=model.generate, args=(ids[:1],), kwargs=options)
    thread.start()
    results["streamed"] = "".join(streamer)
    thread.join()
    return results


def encoder_decoder():
    """Generation with an encoder, and a forced token."""
    torch.manual_seed(0)
    each = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
    sizes = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in each.items()}
    sizes |= {"vocab_size": 64, "d_model": 32, "max_position_embeddings": 64}
    config = hf.BartConfig(**sizes, init_std=0.3, dropout=0.0, forced_bos_token_id=5)
    model, ids = hf.BartForConditionalGeneration(config).eval(), prompt()
    results = {
        "greedy": model.generate(ids, max_new_tokens=8),
        "beams": model.generate(ids, max_new_tokens=8, num_beams=4, no_repeat_ngram_size=2),
    }
    torch.manual_seed(1)
    results["sampled"] = model.generate(ids, max_new_tokens=8, do_sample=True, top_k=8)
    results["static"] = model.generate(ids, max_new_tokens=8, cache_implementation="static")
    return results


def attention_implementations():
    """ "eager", "sdpa" and "flex_attention" produce the same result, padded and packed, and the same gradient."""
    results = {}
    ids = prompt(2, 16)
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    torch._dynamo.config.disable = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # without a C++ compiler
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    for name in ("eager", "sdpa", "flex_attention"):
        model = llama(attn_implementation=name)
        if name != "flex_attention":  # which has no gradient on the CPU
            model(ids, attention_mask=mask, labels=ids).loss.backward()
            results[f"{name} gradient"] = model.model.layers[0].self_attn.q_proj.weight.grad
        with torch.no_grad():
            results[name] = model(ids, attention_mask=mask).logits[:, 5:]
            results[f"{name} decoded"] = model.generate(ids, attention_mask=mask, max_new_tokens=4)
    torch._dynamo.config.disable = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
    model.set_attn_implementation("sdpa")
    results["set"] = model(ids, attention_mask=mask).logits[:, -1]
    return results


def precision_and_checkpointing():
    """``half()``, bfloat16, gradient checkpointing, ``torch.compile``."""
    model, ids = llama(), prompt()
    results = {"plain": model(ids).logits, "compiled": torch.compile(model, backend="eager")(ids).logits}
    model.train()
    model.gradient_checkpointing_enable()
    model(ids, labels=ids, use_cache=False).loss.backward()
    results["checkpointed"] = model.model.layers[0].mlp.up_proj.weight.grad
    model.gradient_checkpointing_disable()
    model.zero_grad()
    model(ids, labels=ids).loss.backward()
    results["not checkpointed"] = model.model.layers[0].mlp.up_proj.weight.grad
    model.eval()
    half = llama().half()(ids).logits  # in half precision the order of sums shows in the last digits
    results["half"] = [str(half.dtype), torch.allclose(half.float(), results["plain"], atol=0.1)]
    results["bfloat16 dtype"] = str(llama().to(torch.bfloat16)(ids).logits.dtype)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size="20KB")
        results["files"] = sorted(os.listdir(folder))
        loaded, info = hf.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        results["loaded"] = loaded(ids).logits
        results["info"] = {name: sorted(map(str, value)) for name, value in info.items() if name != "error_msgs"}
    model.resize_token_embeddings(70)
    results["resized"] = [list(model.get_input_embeddings().weight.shape), model(ids).logits.shape[-1]]
    return results


def mixture_of_experts():
    """Mixtral, with each implementation of its experts, and its gradient."""
    results = {}
    for name in ("eager", "batched_mm", "grouped_mm"):
        torch.manual_seed(0)
        config = hf.MixtralConfig(**TINY, num_key_value_heads=2, num_local_experts=4, experts_implementation=name)
        model, ids = hf.MixtralForCausalLM(config).train(), prompt()
        loss = model(ids, labels=ids, output_router_logits=True).loss
        loss.backward()
        results[name] = [loss, model.model.layers[0].mlp.experts.down_proj.grad]
    return results


# Training -------------------------------------------------------------------------------------------------


class Examples(torch.utils.data.Dataset):
    """Random sentences, whose class is whether their first id is even."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(5, 40, (count, 8), generator=generator)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": int(self.ids[i, 0]) % 2}


def bert(kind, **options):
    torch.manual_seed(0)
    return kind(hf.BertConfig(**{**TINY, **NO_DROPOUT, "initializer_range": 0.3, **options})).eval()


def classifier():
    return bert(hf.BertForSequenceClassification, hidden_size=16, num_hidden_layers=1)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def arguments(folder, **options):
    usual = {"num_train_epochs": 2, "per_device_train_batch_size": 8, "per_device_eval_batch_size": 16, "seed": 3}
    usual |= {"learning_rate": 5e-3, "logging_steps": 1, "report_to": [], "disable_tqdm": True, "use_cpu": True}
    return hf.TrainingArguments(folder, **{**usual, **options})


def history(trainer):
    """The log without times."""
    rows = trainer.state.log_history
    return [{k: v for k, v in row.items() if "time" not in k and "per_second" not in k} for row in rows]


def trainer_of_everything():
    """Evaluation, warmup, accumulation, clipping, label smoothing, the best model, prediction."""
    with tempfile.TemporaryDirectory() as folder:
        best = {"load_best_model_at_end": True, "metric_for_best_model": "accuracy", "save_strategy": "epoch"}
        steps = {"warmup_steps": 2, "lr_scheduler_type": "cosine", "weight_decay": 0.01, "num_train_epochs": 3}
        steps |= {"gradient_accumulation_steps": 2, "max_grad_norm": 0.5, "label_smoothing_factor": 0.1}
        data = {"train_dataset": Examples(48, 0), "eval_dataset": Examples(32, 1), "compute_metrics": accuracy}
        trainer = hf.Trainer(classifier(), arguments(folder, eval_strategy="epoch", **best, **steps), **data)
        trained = trainer.train()
        best = os.path.basename(trainer.state.best_model_checkpoint)
        results = {"loss": trained.training_loss, "history": history(trainer), "best": best}
        results["predictions"] = trainer.predict(Examples(8, 2)).predictions
    return results


def trainer_resumed():
    """A training run that stopped continues from its checkpoint as if it had not stopped."""
    with tempfile.TemporaryDirectory() as folder:
        saving = arguments(folder, save_strategy="steps", save_steps=4)
        whole = hf.Trainer(classifier(), saving, train_dataset=Examples(48, 0))
        whole.train()
        path = os.path.join(folder, "checkpoint-8")
        again = hf.Trainer(classifier(), arguments(folder, save_strategy="no"), train_dataset=Examples(48, 0))
        again.train(resume_from_checkpoint=path)
        same = [torch.equal(a, b) for a, b in zip(whole.model.parameters(), again.model.parameters(), strict=True)]
        return {"same": all(same), "history": history(again), "files": sorted(os.listdir(path))}


def trainer_options():
    """Optimisers, schedules, gradient checkpointing, workers and samplers."""
    results = {}
    ways = {
        "sgd": {"optim": "sgd", "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 3},
        "adafactor": {"optim": "adafactor", "lr_scheduler_type": "linear"},
        "adagrad": {"optim": "adagrad", "lr_scheduler_type": "polynomial"},
        "rmsprop": {"optim": "rmsprop", "lr_scheduler_type": "inverse_sqrt"},
        "checkpointing": {"gradient_checkpointing": True, "lr_scheduler_type": "cosine_with_restarts"},
        "group by length": {"train_sampling_strategy": "group_by_length"},
        "steps": {"max_steps": 5, "dataloader_drop_last": True},
        "workers": {"max_steps": 3, "dataloader_num_workers": 1, "dataloader_persistent_workers": True},
        "full determinism": {"max_steps": 3, "full_determinism": True},
    }
    for name, options in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            options = {"num_train_epochs": 1, "save_strategy": "no", **options}
            trainer = hf.Trainer(classifier(), arguments(folder, **options), train_dataset=Examples(40, 0))
            trainer.train()
            results[name] = history(trainer)
    torch.use_deterministic_algorithms(False)
    return results


def collators():
    """Each collator on sentences of different lengths."""
    words = tokenizer()
    rows = [words(sentence) for sentence in SENTENCES[:3]]
    ids = [row["input_ids"] for row in rows]
    torch.manual_seed(0)
    ways = {
        "default": (hf.default_data_collator, [{"x": [1, 2], "label": 0}, {"x": [3, 4], "label": 1}]),
        "padding": (hf.DataCollatorWithPadding(words, pad_to_multiple_of=8), rows),
        "masked": (hf.DataCollatorForLanguageModeling(words, mlm_probability=0.5), rows),
        "seeded": (hf.DataCollatorForLanguageModeling(words, seed=5), rows),
        "causal": (hf.DataCollatorForLanguageModeling(words, mlm=False), rows),
        "tokens": (hf.DataCollatorForTokenClassification(words), [{**row, "labels": row["input_ids"]} for row in rows]),
        "flattened": (hf.DataCollatorWithFlattening(), [{"input_ids": row, "labels": row} for row in ids]),
        "permuted": (hf.DataCollatorForPermutationLanguageModeling(words), [{"input_ids": row[:8]} for row in ids]),
    }
    return {name: dict(collate([dict(row) for row in rows]).items()) for name, (collate, rows) in ways.items()}


# Pipelines ------------------------------------------------------------------------------------------------


def text_pipelines():
    """Text pipelines, on models created here."""
    words, text = tokenizer(), "the quick dog reads books"
    entailing = bert(hf.BertForSequenceClassification, label2id={"entailment": 0, "no": 1}, num_labels=2)
    causal = hf.pipeline("text-generation", model=llama(), tokenizer=bpe())
    results = {"several": causal(["the", "a dog"], max_new_tokens=4, do_sample=False, batch_size=2)}
    for task, model, options, call in (
        ("text-classification", bert(hf.BertForSequenceClassification, num_labels=3), {"top_k": None}, {}),
        ("fill-mask", bert(hf.BertForMaskedLM), {"top_k": 3}, {}),
        ("token-classification", bert(hf.BertForTokenClassification), {"aggregation_strategy": "simple"}, {}),
        ("feature-extraction", bert(hf.BertModel), {"return_tensors": True}, {}),
        ("zero-shot-classification", entailing, {}, {"candidate_labels": "dog"}),
    ):
        sentence = "the [MASK] dog reads" if task == "fill-mask" else text
        results[task] = hf.pipeline(task, model=model, tokenizer=words, **options)(sentence, **call)
    torch.manual_seed(1)
    results["sampled"] = causal("the model", max_new_tokens=8, do_sample=True, num_return_sequences=2)
    return results


PARTS = [generation, generation_of_many, stopping_and_streaming, encoder_decoder, attention_implementations]
PARTS += [precision_and_checkpointing, mixture_of_experts]
PARTS += [trainer_of_everything, trainer_resumed, trainer_options, collators, text_pipelines]


def run() -> dict[str, object]:
    torch.manual_seed(0)
    return {f"{part.__name__} {name}": value for part in PARTS for name, value in part().items()}
