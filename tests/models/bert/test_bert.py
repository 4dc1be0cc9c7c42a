"""BERT and its heads against the transformers library, in both directions: the same numbers and gradients."""

import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad_models.bert.bert import (
    IGNORED,
    Bert,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    Config,
)
from tests.support.hugging_face import bert, in_torch, minilm, needs_transformers, saved
from tests.support.parity import assert_close

RTOL = {mg.float32: 1e-4, mg.float64: 1e-10}
V, T = 31, 9
# A configuration, whether it has a mask and types, and the dtype.
VARIANTS: dict[str, tuple[dict[str, Any], bool, mg.dtype]] = {
    "as published": ({}, True, mg.float32),
    "approximate gelu, one head": ({"hidden_act": "gelu_new", "num_attention_heads": 1}, False, mg.float64),
    "relu, three types": ({"hidden_act": "relu", "layer_norm_eps": 1e-3, "type_vocab_size": 3}, True, mg.float64),
    "another padding": ({"pad_token_id": 5}, True, mg.float64),
}
TOKENS = [[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 1, 8, 0, 0, 0, 0, 0], [30, 0, 29, 1, 28, 2, 27, 0, 0]]
TYPES = [[0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1, 0, 0]]
LENGTHS = (9, 4, 7)
WORDS = [[-100, 1, -100, -100, 7, -100, -100, 6, -100], [-100, 0] + 7 * [-100], [-100, 30] + 7 * [-100]]
TAGS = [[0, 1, 2, 0, 1, 2, 0, 1, 2], [-100, 2, 2, -100] + 5 * [-100], [1, 1, 1, 1, 1, 1, -100, -100, -100]]
# A model, and the targets of its loss under transformers' names, in our order of arguments.
HEADS: dict[Any, dict[str, Any]] = {
    BertForPreTraining: {"labels": WORDS, "next_sentence_label": [0, 1, 1]},
    BertForMaskedLM: {"labels": WORDS},
    BertForNextSentencePrediction: {"labels": [1, 0, 1]},
    BertForSequenceClassification: {"labels": [2, 0, 1]},
    BertForMultipleChoice: {"labels": [2]},
    BertForTokenClassification: {"labels": TAGS},
    BertForQuestionAnswering: {"start_positions": [1, 0, 12], "end_positions": [2, 3, -1]},
}
each = pytest.mark.parametrize("kind", HEADS, ids=lambda kind: kind.__name__)


def config(**changes: Any) -> Config:
    sizes = {"vocabulary": V, "positions": 16, "d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "dropout": 0.0}
    return Config(**{**sizes, "attention_dropout": 0.0, **changes})


def small(kind: Any, device: str = "cpu", **changes: Any) -> Any:
    """A model in evaluation mode whose norms and biases are not 1 and 0."""
    mg.manual_seed(1)
    model = kind(config(**changes))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * mg.randn(parameter.shape))
    return model.to(device).eval()


def batch(kind: Any, padded: bool = True, device: str = "cpu") -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Tokens, mask and types (3, T), or (1, 3, T) for multiple choice; without padding there are no types."""
    rows: list[Tensor | None] = [mg.tensor(TOKENS, device=device), None, None]
    if padded:
        mask = mg.arange(T, device=device) < mg.tensor(LENGTHS, device=device)[:, None]
        rows[1:] = [mask, mg.tensor(TYPES, device=device)]
    if kind is BertForMultipleChoice:
        rows = [None if x is None else x[None] for x in rows]
    assert rows[0] is not None
    return rows[0], rows[1], rows[2]


def as_theirs(tokens: Tensor, mask: Tensor | None, types: Tensor | None) -> dict[str, Any]:
    """The arguments of transformers' models."""
    arguments = {"input_ids": tokens, "token_type_ids": types, "attention_mask": None if mask is None else mask.long()}
    return {name: in_torch(x) for name, x in arguments.items() if x is not None}


def loss_of(model: Any, tokens: Tensor, mask: Tensor | None, types: Tensor | None, *targets: Any) -> Tensor:
    """The loss of any of the models."""
    values = [mg.tensor(t, device=tokens.device) for t in targets]
    if isinstance(model, BertForPreTraining):
        first, second = model.losses(tokens, *values, attention_mask=mask, token_type_ids=types)
        return first + second
    return model.loss(tokens, *values, attention_mask=mask, token_type_ids=types)


def assert_gradients(ours: Any, theirs: Any, rtol: float) -> None:
    """Compare the gradients of all parameters, under transformers' names."""
    derivatives = ours.to_theirs({name: p.grad for name, p in ours.named_parameters() if p.grad is not None})
    expected = {name: p.grad for name, p in theirs.named_parameters() if p.grad is not None}
    assert derivatives.keys() == expected.keys()
    largest = max(float(derivative.abs().max()) for derivative in derivatives.values())
    for name, derivative in derivatives.items():
        # A bias of keys or choices shifts all inputs of a softmax equally: its gradient is 0 up to rounding.
        atol = rtol * max(float(expected[name].abs().max()), 1e-2 * largest)
        np.testing.assert_allclose(derivative.numpy(), expected[name].numpy(), rtol, atol, err_msg=name)


def both(kind: Any, folder: Path, dtype: mg.dtype = mg.float64, **options: Any) -> tuple[Any, Any, float]:
    """A model of transformers, our model loaded from its files, and the tolerance."""
    theirs = bert("BertModel" if kind is Bert else kind.__name__, **options)
    ours = kind.from_pretrained(saved(theirs, folder)).to(dtype)
    return theirs.double() if dtype == mg.float64 else theirs, ours, RTOL[dtype]


@needs_transformers
@pytest.mark.parametrize("name", VARIANTS)
def test_states_and_all_gradients(name: str, tmp_path: Path) -> None:
    variant, padded, dtype = VARIANTS[name]
    theirs, ours, rtol = both(Bert, tmp_path, dtype, **variant)
    inputs = batch(Bert, padded)
    expected = theirs(**as_theirs(*inputs), output_hidden_states=True)
    states = ours.hidden_states(*inputs)
    assert len(states) == len(expected.hidden_states) == ours.config.layers + 1
    for i, (state, other) in enumerate(zip(states, expected.hidden_states, strict=True)):
        assert_close(state, other, rtol, f"state {i}")
    assert mg.equal(ours(*inputs), states[-1])
    assert_close(ours.pooled(states[-1]), expected.pooler_output, rtol, "pooled")
    (states[-1].sin().sum() + ours.pooled(states[-1]).sum()).backward()
    (expected.hidden_states[-1].sin().sum() + expected.pooler_output.sum()).backward()
    assert_gradients(ours, theirs, rtol)


@needs_transformers
@each
def test_logits_loss_and_all_gradients(kind: Any, tmp_path: Path) -> None:
    theirs, ours, rtol = both(kind, tmp_path)
    inputs, targets = batch(kind, padded=kind is not BertForMaskedLM), HEADS[kind]
    expected = theirs(**as_theirs(*inputs), **{name: in_torch(mg.tensor(t)) for name, t in targets.items()})
    logits = ours(*inputs)
    for one, other in zip(logits if isinstance(logits, tuple) else (logits,), expected[1:], strict=True):
        assert_close(one, other, rtol, "logits")
    loss = loss_of(ours, *inputs, *targets.values())
    assert_close(loss, expected.loss, rtol, "loss")
    loss.backward()
    expected.loss.backward()
    assert_gradients(ours, theirs, rtol)


@needs_transformers
@pytest.mark.parametrize(("labels", "targets"), [(1, [0.5, -1.0, 2.0]), (3, [[1.0, 0.0, 1.0]] * 3)])
def test_regression_and_multi_label_losses(labels: int, targets: Any, tmp_path: Path) -> None:
    theirs, ours, _ = both(BertForSequenceClassification, tmp_path, mg.float32, num_labels=labels)
    inputs = batch(BertForSequenceClassification)
    expected = theirs(**as_theirs(*inputs), labels=in_torch(mg.tensor(targets))).loss
    loss = loss_of(ours, *inputs, targets)
    assert_close(loss, expected, 1e-4)
    if labels == 1:
        assert_close(loss_of(ours, *inputs, [2, 0, 1]), loss_of(ours, *inputs, [2.0, 0.0, 1.0]))
    loss.backward()
    expected.backward()
    assert_gradients(ours, theirs, 1e-4)


@needs_transformers
@pytest.mark.parametrize("kind", [Bert, BertForPreTraining, BertForQuestionAnswering])
def test_transformers_reads_our_files(kind: Any, tmp_path: Path) -> None:
    transformers = importlib.import_module("transformers")
    names = {} if kind is BertForQuestionAnswering else {"label_names": ["O", "B-PER", "I-PER"]}
    dropouts = {"dropout": 0.25, "head_dropout": 0.5, "embedding_dropout": 0.125}
    changes: dict[str, Any] = {"activation": "relu", "epsilon": 1e-3, "types": 3, "padding": 5, **names}
    ours = small(kind, **changes, **dropouts)
    ours.save_pretrained(tmp_path)
    name = "BertModel" if kind is Bert else kind.__name__
    theirs, report = getattr(transformers, name).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert theirs.config.hidden_dropout_prob == 0.25 and theirs.config.classifier_dropout == 0.5
    assert theirs.config.id2label == dict(enumerate(names.get("label_names", ["LABEL_0", "LABEL_1"])))
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == [name]
    tokens, mask, types = batch(kind)
    expected = theirs.eval()(**as_theirs(tokens, mask, types))
    result = ours(tokens, mask, types)
    assert_close(result[0] if isinstance(result, tuple) else result, expected[0], 1e-4)
    again = kind.from_pretrained(tmp_path)
    assert again.config == ours.config
    assert all(mg.equal(p, q) for p, q in zip(ours.parameters(), again.parameters(), strict=True))


@needs_transformers
def test_other_layouts_of_the_same_weights(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    torch = importlib.import_module("torch")
    theirs, inputs = bert("BertForMaskedLM"), batch(BertForMaskedLM)
    folder = saved(theirs, tmp_path)
    expected = BertForMaskedLM.from_pretrained(folder)(*inputs)
    (folder / "model.safetensors").unlink()
    weights = {n: w.clone() for n, w in theirs.state_dict().items() if not n.startswith("cls.predictions.decoder")}
    gamma = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def old(name: str) -> str:
        for new, before in gamma.items():
            name = name.replace(new, before)
        return name

    layouts = {
        "PyTorch's archive": weights,
        "with the last layer, which is the embedding": theirs.state_dict(),
        "without a prefix": {name.removeprefix("bert."): w for name, w in weights.items()},
        "layer norms as TensorFlow's": {old(name): w for name, w in weights.items()},
        "positions as a buffer": weights | {"bert.embeddings.position_ids": torch.arange(16)[None]},
    }
    pooler = bert("BertModel").state_dict()
    layouts["with a pooler"] = weights | {f"bert.{n}": w for n, w in pooler.items() if n.startswith("pooler")}
    for name, layout in layouts.items():
        torch.save(layout, folder / "pytorch_model.bin")
        assert mg.equal(BertForMaskedLM.from_pretrained(folder)(*inputs), expected), name
    assert not [w for w in recwarn if "models" in w.filename or "test_bert" in w.filename]


TEXTS = [
    "",
    "The girl is carrying a baby, and it is raining cats & dogs: 37 of them!",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 漢字",
    "word " * 700,  # longer than the number of positions
]


@pytest.mark.nightly
@needs_transformers
def test_minilms_sentence_embeddings_match_pytorch() -> None:
    folder = minilm()
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(TEXTS, padding=True, truncation=True, max_length=512, return_tensors="pt")
    with torch.no_grad():
        states = transformers.BertModel.from_pretrained(folder).eval()(**inputs).last_hidden_state
    mask = inputs["attention_mask"][:, :, None]
    expected = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))
    vectors = Bert.from_pretrained(folder).encode(TEXTS, 2)
    np.testing.assert_allclose(vectors.numpy(), expected.numpy(), rtol=0, atol=1e-5)


def test_gradients_match_finite_differences() -> None:
    tokens, mask = mg.tensor([[1, 2, 3], [3, 4, 4]]), mg.tensor([[True, True, True], [True, False, False]])
    targets: dict[Any, list[Any]] = {
        BertForPreTraining: [[[IGNORED, 2, 1], [0, IGNORED, IGNORED]], [1, 0]],
        BertForTokenClassification: [[[1, 0, IGNORED], [0, IGNORED, IGNORED]]],
        BertForQuestionAnswering: [[1, 0], [2, 0]],
    }
    for kind, y in targets.items():
        model = small(kind, vocabulary=5, positions=3, d_model=4, layers=1, d_ff=4, padding=4).double()
        # Padding's embedding is not a free parameter, but has a gradient where embeddings score the words.
        free = [p for name, p in model.named_parameters() if name != "bert.embedding.weight"]
        check = lambda *_, model=model, y=y: loss_of(model, tokens, mask, None, *y)
        assert mg.autograd.gradcheck(check, free, atol=1e-6), kind


def test_padding_changes_nothing(device: str) -> None:
    model = small(Bert, device)
    tokens, mask, types = batch(Bert, device=device)
    assert types is not None
    states, vectors = model(tokens, mask, types), model.sentence_embeddings(tokens, mask)
    for i, n in enumerate(LENGTHS):
        single = tokens[i : i + 1, :n]
        assert_close(states[i, :n], model(single, token_type_ids=types[i : i + 1, :n])[0], 1e-5)
        assert_close(vectors[i], model.sentence_embeddings(single)[0], 1e-5)
    assert_close(vectors.square().sum(1), mg.ones(3), 1e-5)


def test_texts_are_sorted_by_length_and_returned_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small(Bert).train()
    model.tokenizer = tokenizer()
    texts = ["a", "a b c d e", "b c", "", "c b a", "a b", "e d c b"]
    sizes: list[tuple[int, ...]] = []
    embed = model.sentence_embeddings

    def watched(tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        sizes.append(tuple(tokens.shape))
        return embed(tokens, mask)

    monkeypatch.setattr(model, "sentence_embeddings", watched)
    vectors = model.encode(texts, batch=3)
    assert sizes == [(3, 7), (3, 4), (1, 2)] and model.training and vectors.shape == (7, 8)
    monkeypatch.undo()
    for text, vector in zip(texts, vectors, strict=True):
        ids = mg.tensor([model.tokenizer.encode(text).ids])
        assert_close(vector, model.eval().sentence_embeddings(ids)[0], 1e-5)
    before = mg.get_num_threads()
    mg.set_num_threads(2)
    many = model.encode(texts * 4, batch=2)  # a batch for each thread
    mg.set_num_threads(before)
    assert_close(many, mg.cat([vectors] * 4), 1e-5)
    assert not many.requires_grad
    assert_close(model.encode(["a b c d e"], longest=4)[0], model.encode(["a b"])[0], 1e-5)
    assert_close(model.encode("a b"), model.encode(["a b"]), 0)
    assert model.encode([]).shape == (0, 8) and not vectors.requires_grad


def tokenizer() -> Any:
    """A tokenizer of one-letter words, with [CLS] before a text and [SEP] after it."""
    library = pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcde"]
    pieces = library.Tokenizer(library.models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    pieces.pre_tokenizer = library.pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    pieces.post_processor = library.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return pieces


def test_invalid_input_of_encode() -> None:
    model = small(Bert)
    with pytest.raises(ValueError, match="has no tokenizer"):
        model.encode(["a"])
    model.tokenizer = tokenizer()
    for options in ({"batch": 0}, {"longest": 17}, {"longest": -1}):
        with pytest.raises(ValueError, match=r"batch \(0\) must be above 0|longest \(.*\) must be 0 to 16"):
            model.encode(["a"], **options)
    with pytest.raises(ValueError, match="17 tokens do not fit in the model's 16 positions"):
        model(mg.zeros(1, 17, dtype=mg.int64))


def test_initial_weights_are_small_and_padding_is_zero() -> None:
    model = BertForSequenceClassification(Config(400, 200, 64, 4, 2))
    for part in (model.bert.embedding, model.bert.layers[0].feed_forward.inner, model.bert.pooler):
        assert math.isclose(float(part.weight.std()), 0.02, rel_tol=0.05)
    assert not model.bert.embedding.weight[0].any() and not model.classifier.bias.any()
    base = sum(p.numel() for p in Bert(Config(layers=1)).parameters())
    assert base + 11 * 7_087_872 == 109_482_240  # the usual count of BERT-base


def changed(folder: Path, **entries: Any) -> Path:
    """The folder with other entries in config.json; None removes an entry."""
    file = folder / "config.json"
    content = {**json.loads(file.read_text()), **entries}
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))
    return folder


WRONG: dict[str, dict[str, Any]] = {
    "it has position_embedding_type = 'relative_key'; this model supports": {"position_embedding_type": "relative_key"},
    "it has tie_word_embeddings = False; this model supports only True": {"tie_word_embeddings": False},
    "activation must be one of gelu_new, gelu_pytorch_tanh, gelu, relu, not 'swish'": {"hidden_act": "swish"},
    "padding must be a token id, 0 to 30, not 31": {"pad_token_id": 31},
    "types must be at least 1, not 0": {"type_vocab_size": 0},
    "id2label must number the labels 0 to 1, not '0, 2'": {"id2label": {"0": "a", "2": "b"}},
    "id2label is a list, but should be of type dict[int | str, str]": {"id2label": ["a", "b"]},
    "id2label['0'] is 1, but should be of type str": {"id2label": {"0": 1}},
    "num_labels must be at least 1, not 0": {"num_labels": 0},
}


def test_invalid_configurations(tmp_path: Path) -> None:
    for number, (message, entries) in enumerate(WRONG.items()):
        small(Bert).save_pretrained(folder := tmp_path / str(number))
        with pytest.raises(ValueError) as raised:
            Bert.from_pretrained(changed(folder, **entries))
        assert message in str(raised.value) and str(folder) in str(raised.value)


def test_labels_by_name_or_number(tmp_path: Path) -> None:
    small(Bert).save_pretrained(tmp_path)
    names = [f"name {i}" for i in range(12)]
    shuffled = {str(i): names[i] for i in (11, 3, 0, 1, 2, 10, 9, 8, 4, 5, 6, 7)}
    read = lambda **changes: Bert.from_pretrained(tmp_path, **changes).config
    assert read(id2label=shuffled).label_names == names and read(id2label=shuffled).labels == 12
    assert read(id2label=shuffled, num_labels=12).label_names == names
    assert read(id2label=shuffled, num_labels=3).label_names == ["LABEL_0", "LABEL_1", "LABEL_2"]
    changed(tmp_path, id2label=None, label2id=None)
    assert read().label_names == ["LABEL_0", "LABEL_1"]
    assert read(num_labels=1).labels == 1
    assert Config(labels=3) == Config(label_names=["LABEL_0", "LABEL_1", "LABEL_2"])
    assert Config(label_names=["yes"]).labels == 1
    names = {"0": "other", "1": "yes", "2": "other"}
    assert Config(label_names=[*names.values()]).published()["id2label"] == names


def test_files_with_missing_or_extra_parts(tmp_path: Path) -> None:
    """A missing head is initialized at random, an extra head is a warning, and a missing layer is an error."""
    encoder = small(Bert)
    encoder.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="classifier.weight, classifier.bias get random values") as record:
        model = BertForTokenClassification.from_pretrained(tmp_path)
    assert len(record) == 1 and record[0].filename == __file__
    assert mg.equal(model.bert.layers[1].feed_forward.outer.weight, encoder.layers[1].feed_forward.outer.weight)
    small(BertForMaskedLM, layers=1).save_pretrained(tmp_path)
    with pytest.warns(UserWarning) as record:
        BertForSequenceClassification.from_pretrained(tmp_path)
    missing, unknown = (str(warning.message) for warning in record)
    assert "bert.pooler.weight, bert.pooler.bias, classifier.weight, classifier.bias get random values" in missing
    assert "has weights unknown to BertForSequenceClassification: cls.predictions" in unknown
    with pytest.raises(ValueError, match=r"lacks bert.encoder.layer.1.attention.self.query.weight, .* and 11 more"):
        BertForMaskedLM.from_pretrained(changed(tmp_path, num_hidden_layers=2))


def test_heads_that_a_configuration_does_not_allow(tmp_path: Path) -> None:
    small(Bert, labels=5).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"a span needs 2 labels \(begin and end\), not 5: set num_labels=2"):
        BertForQuestionAnswering.from_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="get random values"):
        assert BertForQuestionAnswering.from_pretrained(tmp_path, num_labels=2).config.labels == 2
    with pytest.raises(ValueError, match="is_decoder = True; this model supports only False"):
        Bert.from_pretrained(changed(tmp_path, is_decoder=True))
