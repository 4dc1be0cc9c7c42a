"""BERT, "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al. 2019, arXiv 1810.04805), with all heads.

The encoder of "Attention Is All You Need" over one or two texts. It is first trained to fill in masked words and to
predict whether the second text follows the first (section 3.1). One more layer is then added to train it on a task
(section 3.2). ``from_pretrained(folder)`` reads the files of the transformers classes with the same names.

Shapes: B batch, T tokens, D model width, H heads, L layers, V vocabulary. Every model takes three inputs, (B, T) each:
``input_ids``; ``attention_mask``, which is 1 or True at tokens and 0 or False at padding (None: no padding); and
``token_type_ids``, which are 0 in the first text and 1 in the second (None: all 0).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.autograd.mode import at_end
from minigrad.nn import functional as F

from ..architectures import pretrained
from ..architectures.layers import ACTIVATIONS, TransformerLayer
from ..architectures.pretrained import Pretrained, Rule, Weights, check_sizes
from ..inputs import Mask, old_names
from ..schema import check, short
from ..text.tokenizer import several

IGNORED = -100  # a target that the loss ignores
Types = Tensor | None
Pair = tuple[Tensor, Tensor]
ENCODER = (
    Rule("embeddings.word_embeddings", "embedding", (".weight",)),
    Rule("embeddings.position_embeddings", "position_embedding", (".weight",)),
    Rule("embeddings.token_type_embeddings", "type_embedding", (".weight",)),
    Rule("embeddings.LayerNorm", "norm"),
    Rule("encoder.layer.{}.attention.self.query", "layers.{}.attention.query"),
    Rule("encoder.layer.{}.attention.self.key", "layers.{}.attention.key"),
    Rule("encoder.layer.{}.attention.self.value", "layers.{}.attention.value"),
    Rule("encoder.layer.{}.attention.output.dense", "layers.{}.attention.output"),
    Rule("encoder.layer.{}.attention.output.LayerNorm", "layers.{}.attention_residual.norm"),
    Rule("encoder.layer.{}.intermediate.dense", "layers.{}.feed_forward.inner"),
    Rule("encoder.layer.{}.output.dense", "layers.{}.feed_forward.outer"),
    Rule("encoder.layer.{}.output.LayerNorm", "layers.{}.feed_forward_residual.norm"),
    Rule("pooler.dense", "pooler"),
)
WORDS = (
    Rule("cls.predictions.transform.dense", "words.dense"),
    Rule("cls.predictions.transform.LayerNorm", "words.norm"),
    Rule("cls.predictions", "words", (".bias",)),
)
NEXT_SENTENCE = (Rule("cls.seq_relationship", "next_sentence"),)
CLASSIFIER = (Rule("classifier", "classifier"),)
SPAN = (Rule("qa_outputs", "span"),)
PREFIX = "bert."  # of the encoder's names in a model with a head
TIED = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")  # copies of the embedding and words.bias
FIELDS = {
    "vocab_size": "vocabulary",
    "max_position_embeddings": "positions",
    "hidden_size": "d_model",
    "num_attention_heads": "heads",
    "num_hidden_layers": "layers",
    "intermediate_size": "d_ff",
    "hidden_dropout_prob": "dropout",
    "embedding_dropout_prob": "embedding_dropout",  # not in transformers
    "attention_probs_dropout_prob": "attention_dropout",
    "classifier_dropout": "head_dropout",
    "type_vocab_size": "types",
    "hidden_act": "activation",
    "layer_norm_eps": "epsilon",
    "pad_token_id": "padding",
}
FIXED = {
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
    "is_decoder": False,
    "add_cross_attention": False,
}


@dataclass
class Config:
    """The hyperparameters. The defaults describe the paper's base model (section 3: 110 million weights). Raises
    ValueError if a size is below 1, H does not divide D, a dropout is not a probability, the activation is unknown, or
    the padding token is not in the vocabulary."""

    vocabulary: int = 30522  # V
    positions: int = 512  # the maximum number of tokens
    d_model: int = 768  # D
    heads: int = 12  # H, which divides D
    layers: int = 12  # L
    d_ff: int = 0  # the width inside the feed-forward networks; 0 for 4 D
    dropout: float = 0.1  # on sub-layer outputs
    embedding_dropout: float | None = None  # on the embeddings; None for ``dropout``
    attention_dropout: float = 0.1  # on attention weights
    head_dropout: float | None = None  # on a classifier's input; None for ``dropout``
    types: int = 2  # the number of text types
    activation: str = "gelu"  # or "gelu_tanh", "relu"
    epsilon: float = 1e-12  # in the layer norms
    padding: int = 0  # the padding token; its embedding is not trained
    labels: int = 0  # of a classifier; 0: the number of names, or 2 without names
    label_names: list[str] = field(default_factory=list)  # determine the number of labels; else "LABEL_0" etc.

    def __post_init__(self) -> None:
        self.d_ff = self.d_ff or 4 * self.d_model
        self.labels = self.labels or len(self.label_names) or 2
        check_sizes(self, ids=("padding",))
        if self.label_names == numbered(len(self.label_names)):  # or no names
            self.label_names = numbered(self.labels)
        self.labels = len(self.label_names)

    # The layers read these as well; see ``LayerConfig``.
    activation_dropout, norm_first, position_encoding = 0.0, False, "learned"

    def dropout_or(self, special: float | None) -> float:
        return self.dropout if special is None else special

    def published(self) -> dict[str, Any]:
        """The content of transformers' config.json."""
        labels = {str(i): name for i, name in enumerate(self.label_names)}
        numbers = {name: int(i) for i, name in labels.items()}
        return {**pretrained.to_published(self, FIELDS), "id2label": labels, "label2id": numbers}


def numbered(labels: int) -> list[str]:
    """The default names of labels."""
    return [f"LABEL_{i}" for i in range(labels)]


def label_names(published: Mapping[str, Any]) -> list[str]:
    """The label names in a config.json: ``id2label``, or default names if their number is not ``num_labels``. Raises
    ValueError if the labels are not numbered from 0."""
    names = published.get("id2label") or {}
    check(names, dict[int | str, str], "id2label")
    mapping = {str(key): name for key, name in names.items()}  # JSON keys are strings
    if mapping.keys() != {str(i) for i in range(len(mapping))}:
        raise ValueError(f"id2label must number the labels 0 to {len(mapping) - 1}, not {short(', '.join(mapping))}")
    number = published.get("num_labels")
    check(number, int | None, "num_labels")
    if number in (None, len(mapping)):
        return [mapping[str(i)] for i in range(len(mapping))]
    if number < 1:
        raise ValueError(f"num_labels must be at least 1, not {number}")
    return numbered(number)


class PretrainedBert(Pretrained):
    """Reads and writes the files of all models in this module. ``RULES`` contains the names of a head's weights."""

    MODEL_TYPE, READ = "bert", ("num_labels",)
    HEADS: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = ()
    PREFIX: ClassVar[str] = PREFIX
    config: Config

    @classmethod
    def configured(cls, published: dict[str, Any]) -> Config:
        fields = {**FIELDS, "label_names": "label_names"}
        published = {**published, "label_names": label_names(published)}
        return pretrained.from_published(Config, published, fields, FIXED)

    def to_ours(self, weights: Weights) -> tuple[Weights, list[str]]:
        """See ``Pretrained``. The file may contain the bare encoder or a model with a head, even from TensorFlow."""
        weights = {name.removeprefix(PREFIX): weight for name, weight in weights.items()}
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):  # of layer norms, in files from TensorFlow
            weights = {name.replace(old, new): weight for name, weight in weights.items()}
        weights = {name: weight for name, weight in weights.items() if name not in ("embeddings.position_ids", *TIED)}
        rules = [replace(rule, ours=f"{self.PREFIX}{rule.ours}") for rule in ENCODER]
        ours, unknown = pretrained.to_ours(weights, [*rules, *self.RULES], self.config.layers)
        own = self.state_dict()  # not all heads use the pooler
        return {name: w for name, w in ours.items() if name in own or "pooler" not in name}, unknown

    def to_theirs(self, weights: Mapping[str, Tensor]) -> Weights:
        p = self.PREFIX
        rules = [replace(rule, theirs=p + rule.theirs, ours=f"{p}{rule.ours}") for rule in ENCODER]
        return pretrained.to_theirs(weights, [*rules, *self.RULES], self.config.layers)


class Bert(PretrainedBert):
    """The encoder: tokens -> states (B, T, D). With ``pooler`` it includes the layer that ``pooled`` needs."""

    ARCHITECTURE, HEADS, PREFIX, TABLES = "BertModel", ("pooler",), "", ("embedding",)

    def __init__(self, config: Config, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model, config.padding)
        self.position_embedding = nn.Embedding(config.positions, config.d_model)
        self.type_embedding = nn.Embedding(config.types, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.epsilon)
        self.dropout = nn.Dropout(config.dropout_or(config.embedding_dropout))
        self.layers = nn.ModuleList(TransformerLayer(config, causal=False) for _ in range(config.layers))
        if pooler:
            self.pooler = nn.Linear(config.d_model, config.d_model)
        initialise(self)

    def embed(self, tokens: Tensor, positions: Tensor, types: Tensor | None = None) -> Tensor:
        """Figure 2: tokens (B, T), positions (B or 1, T) and types -> inputs of the first layer (B, T, D)."""
        of_types = self.type_embedding.weight[0] if types is None else self.type_embedding(types)
        return self.dropout(self.norm(self.embedding(tokens) + of_types + self.position_embedding(positions)))

    def through(self, input_ids: Tensor, attention_mask: Mask, token_type_ids: Types) -> Iterator[Tensor]:
        """Yield the input of the first layer, then the output of each layer, (B, T, D) each. Raises ValueError if there
        are more tokens than positions."""
        if (count := input_ids.shape[1]) > self.config.positions:
            raise ValueError(f"{count:,} tokens do not fit in the model's {self.config.positions:,} positions")
        x = self.embed(input_ids, mg.arange(count, device=input_ids.device)[None], token_type_ids)
        yield x
        visible = None if attention_mask is None else attention_mask.bool()[:, None, None]
        for layer in self.layers:
            x = layer(x, visible)
            yield x

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Tensor:
        """The states of the last layer (B, T, D). Raises ValueError if there are more tokens than positions."""
        (states,) = deque(
            self.through(input_ids, attention_mask, token_type_ids), 1
        )  # drops the states of earlier layers
        return states

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None
    ) -> list[Tensor]:
        """The input of the first layer and the outputs of all layers: L + 1 tensors (B, T, D)."""
        return list(self.through(input_ids, attention_mask, token_type_ids))

    def pooled(self, states: Tensor) -> Tensor:
        """States (B, T, D) -> vectors (B, D), which a layer computes from the state of the first token, [CLS]."""
        return self.pooler(states[:, 0]).tanh()

    def sentence_embeddings(self, input_ids: Tensor, attention_mask: Mask = None) -> Tensor:
        """The normalised mean of each text's states (B, D). The dot product of two such means is their cosine
        similarity, as in Sentence-BERT (Reimers and Gurevych 2019, arXiv 1908.10084)."""
        states = self(input_ids, attention_mask)
        if attention_mask is None:
            return F.normalize(states.mean(1))
        counts = attention_mask.to(states.dtype)  # 1 at tokens
        return F.normalize((states * counts[:, :, None]).sum(1) / counts.sum(1, keepdim=True).clamp(min=1))

    def encode(self, texts: str | Sequence[str], batch: int = 32, longest: int = 0) -> Tensor:
        """The ``sentence_embeddings`` (N, D) of N texts, or of one text, without dropout. The model reads ``batch``
        texts of similar length at a time, and at most ``longest`` tokens of each (0: one per position). Raises
        ValueError if the model has no tokenizer, ``batch`` is below 1, or ``longest`` is out of range."""
        return self.encode_ids(self.token_ids(texts, longest), batch)

    def token_ids(self, texts: str | Sequence[str], longest: int = 0) -> list[list[int]]:
        """The tokens of N texts, or of one text. For the arguments and errors see ``encode``."""
        if self.tokenizer is None:
            raise ValueError("this model has no tokenizer: set model.tokenizer, or load a folder that has one")
        if not 0 <= longest <= self.config.positions:
            raise ValueError(f"longest ({longest}) must be 0 to {self.config.positions}")
        with at_end(self.tokenizer.no_truncation) as end, end:
            self.tokenizer.enable_truncation(longest or self.config.positions)
            return [encoding.ids for encoding in self.tokenizer.encode_batch(list(several(texts)))]

    @mg.no_grad()
    def encode_ids(self, ids: Sequence[Sequence[int]], batch: int = 32) -> Tensor:
        """``encode`` for texts as tokens."""
        if batch < 1:
            raise ValueError(f"batch ({batch}) must be above 0")
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]), reverse=True)
        weight, before = self.position_embedding.weight, self.training
        count = -(-len(ids) // batch)
        nothing = mg.zeros(0, self.config.d_model, dtype=weight.dtype, device=weight.device)
        parts = [nothing] * (count + 1)  # the last part stays empty, as there may be no text

        def work(i: int) -> None:
            rows = [ids[j] for j in order[i * batch : (i + 1) * batch]]
            tokens = padded(rows, self.config.padding)
            present = np.arange(tokens.shape[1]) < np.array([[len(row)] for row in rows])
            mask = None if present.all() else mg.from_numpy(present).to(weight.device)
            with mg.no_grad():  # the setting is per thread
                parts[i] = self.sentence_embeddings(mg.from_numpy(tokens).to(weight.device), mask)

        with at_end(self.train, before) as end, end:
            self.eval()
            if weight.device.type == "cpu" and count >= 4 * mg.get_num_threads():  # one batch per thread
                with ThreadPoolExecutor(mg.get_num_threads()) as pool:
                    list(pool.map(work, range(count)))
            else:
                for i in range(count):
                    work(i)
        return mg.cat(parts)[mg.tensor(order, dtype=mg.int64, device=weight.device).argsort()]


def padded(rows: Sequence[Sequence[int]], padding: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Convert lists of numbers to an int64 array (B, T), padded to the longest list."""
    result = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for row, values in zip(result, rows, strict=True):
        row[: len(values)] = values
    return result


class WordHead(nn.Module):
    """States -> logits of words (section 3.1, task 1): a layer, a product with the embeddings, and a bias."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.epsilon)
        self.bias = nn.Parameter(mg.zeros(config.vocabulary))
        self.activation = config.activation

    def transform(self, states: Tensor) -> Tensor:
        return self.norm(ACTIVATIONS[self.activation](self.dense(states)))

    def forward(self, states: Tensor, embedding: Tensor) -> Tensor:
        """States (..., D) and embeddings (V, D) -> logits (..., V)"""
        return F.linear(self.transform(states), embedding, self.bias)

    def loss(self, states: Tensor, embedding: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy of targets (B, T). Where a target is IGNORED, no logits are computed."""
        targets = targets.reshape(-1)
        selected = targets != IGNORED
        states = self.transform(states.flatten(0, 1)[selected])
        return F.linear_cross_entropy(states, embedding, targets[selected], linear_bias=self.bias)


class BertWithHead(PretrainedBert):
    """The encoder, ``bert``, with the layers for a task.

    Subclasses define:
        LAYERS: a dict from names to functions that build layers from a configuration. RULES: the names of weights.
        POOLED: whether the layers read ``Bert.pooled`` instead of the states of all tokens.
    """

    LAYERS: ClassVar[Mapping[str, Callable[[Config], nn.Module]]] = {}
    POOLED: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.HEADS = (*([PREFIX + "pooler"] if cls.POOLED else []), *cls.LAYERS)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.bert = config, Bert(config, self.POOLED)
        for name, layer in self.LAYERS.items():
            self.add_module(name, layer(config))
        initialise(*(getattr(self, name) for name in self.LAYERS))


class BertWithLogits(BertWithHead):
    """The encoder, followed by layers in sequence."""

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Tensor:
        """Logits: (B, outputs) if ``POOLED``, else (B, T, outputs)."""
        x = self.bert(input_ids, attention_mask, token_type_ids)
        x = self.bert.pooled(x) if self.POOLED else x
        for name in self.LAYERS:
            x = getattr(self, name)(x)
        return x

    def loss(self, input_ids: Tensor, targets: Tensor, **inputs: Tensor | None) -> Tensor:
        """The mean cross-entropy of targets (B,) or (B, T). Missing targets are IGNORED."""
        logits = self(input_ids, **inputs)
        return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)


def two(config: Config) -> nn.Linear:
    """A layer with two outputs, for a pair of texts or for a token."""
    return nn.Linear(config.d_model, 2)


class BertWithWords(BertWithHead):
    """The base class of models with the word head. The logit lens uses its attributes."""

    RULES: ClassVar[tuple[Rule, ...]] = WORDS
    LAYERS: ClassVar[Mapping[str, Callable[[Config], nn.Module]]] = {"words": WordHead}

    @property
    def layers(self) -> nn.ModuleList:
        return self.bert.layers

    def logits(self, states: Tensor) -> Tensor:
        """The last layer's states (..., D) -> logits of words (..., V)."""
        return self.words(states, self.bert.embedding.weight)


class BertForPreTraining(BertWithWords):
    """Both pre-training tasks (section 3.1): logits of words (B, T, V), and logits (B, 2) for whether text 2 follows
    (0) or not (1)."""

    ARCHITECTURE, RULES, POOLED = "BertForPreTraining", (*WORDS, *NEXT_SENTENCE), True
    LAYERS = {"words": WordHead, "next_sentence": two}

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Pair:
        states = self.bert(input_ids, attention_mask, token_type_ids)
        return self.logits(states), self.next_sentence(self.bert.pooled(states))

    def losses(self, input_ids: Tensor, words: Tensor, follows: Tensor, **inputs: Tensor | None) -> Pair:
        """The mean cross-entropies of both tasks, whose sum is the loss. ``words`` (B, T) has the masked words, and
        IGNORED elsewhere. ``follows`` (B,) is 0 if text 2 follows and 1 if not."""
        states = self.bert(input_ids, **inputs)
        of_pairs = F.cross_entropy(self.next_sentence(self.bert.pooled(states)), follows)
        return self.words.loss(states, self.bert.embedding.weight, words), of_pairs


class BertForMaskedLM(BertWithWords):
    """Masked words only: logits (B, T, V)."""

    ARCHITECTURE = "BertForMaskedLM"

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Tensor:
        return self.logits(self.bert(input_ids, attention_mask, token_type_ids))

    def loss(self, input_ids: Tensor, words: Tensor, **inputs: Tensor | None) -> Tensor:
        """The mean cross-entropy of the masked words. ``words`` (B, T) is IGNORED at all other tokens."""
        return self.words.loss(self.bert(input_ids, **inputs), self.bert.embedding.weight, words)


class BertForNextSentencePrediction(BertWithLogits):
    """Whether text 2 follows text 1 (0) or not (1): logits (B, 2)."""

    ARCHITECTURE, RULES, POOLED = "BertForNextSentencePrediction", NEXT_SENTENCE, True
    LAYERS = {"next_sentence": two}


class BertClassifier(BertWithLogits):
    """Dropout, then a layer with one output per label."""

    RULES = CLASSIFIER
    LAYERS = {
        "dropout": lambda config: nn.Dropout(config.dropout_or(config.head_dropout)),
        "classifier": lambda config: nn.Linear(config.d_model, config.labels),
    }


class BertForSequenceClassification(BertClassifier):
    """Single texts or pairs -> logits of labels (B, labels): figure 4 a and b."""

    ARCHITECTURE, POOLED = "BertForSequenceClassification", True

    def loss(self, input_ids: Tensor, targets: Tensor, **inputs: Tensor | None) -> Tensor:
        """The mean cross-entropy of integer targets (B,), or the mean binary cross-entropy of floating-point targets
        (B, labels), for multi-label tasks. If there is one label, the mean squared error of numbers (B,)."""
        logits = self(input_ids, **inputs)
        if self.config.labels == 1:
            return F.mse_loss(logits.flatten(), targets.flatten().to(logits.dtype))
        if targets.is_floating_point():
            return F.binary_cross_entropy_with_logits(logits, targets)
        return F.cross_entropy(logits, targets)


class BertForMultipleChoice(BertClassifier):
    """Scores C pairs, such as a question with each of its answers (section 4.4): all inputs (B, C, T) -> logits (B, C).
    ``loss`` takes the indices of the correct choices (B,)."""

    ARCHITECTURE, POOLED = "BertForMultipleChoice", True
    LAYERS = {**BertClassifier.LAYERS, "classifier": lambda config: nn.Linear(config.d_model, 1)}

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Tensor:
        flat = [x if x is None else x.flatten(0, 1) for x in (attention_mask, token_type_ids)]
        return super().forward(input_ids.flatten(0, 1), *flat).view(input_ids.shape[:2])  # (B C, 1) -> (B, C)


class BertForTokenClassification(BertClassifier):
    """Each token -> logits of labels (B, T, labels): figure 4 d."""

    ARCHITECTURE = "BertForTokenClassification"


class BertForQuestionAnswering(BertWithHead):
    """A question and a text -> logits of the first and the last token of the answer, (B, T) each: figure 4 c. Raises
    ValueError unless the configuration has exactly two labels."""

    ARCHITECTURE, RULES, LAYERS = "BertForQuestionAnswering", SPAN, {"span": two}

    def __init__(self, config: Config) -> None:
        if config.labels != 2:
            raise ValueError(f"a span needs 2 labels (begin and end), not {config.labels}: set num_labels=2")
        super().__init__(config)

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None, token_type_ids: Types = None) -> Pair:
        first, last = self.span(self.bert(input_ids, attention_mask, token_type_ids)).unbind(-1)
        return first, last

    def loss(self, input_ids: Tensor, first: Tensor, last: Tensor, **inputs: Tensor | None) -> Tensor:
        """The mean of the cross-entropies of the first and the last token. Targets (B,) of T or more are ignored."""
        t = input_ids.shape[1]
        pairs = zip(self(input_ids, **inputs), (first, last), strict=True)
        of_first, of_last = (F.cross_entropy(x, y.clamp(0, t), ignore_index=t) for x, y in pairs)
        return (of_first + of_last) / 2


def initialise(*modules: nn.Module) -> None:
    """Initialise as the authors' code does: weights from N(0, 0.02²), zero biases, and a zero padding embedding."""
    for module in (part for whole in modules for part in whole.modules()):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight.data[module.padding_idx])
