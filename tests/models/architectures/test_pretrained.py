"""Folders without a valid model: one clear message each, and nothing is changed."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.serialization import save_file
from minigrad_models.gpt.gpt2 import GPT2, Config

Change = Callable[[Path], Any]
CONFIG, WEIGHTS = "config.json", "model.safetensors"
FIRST = "transformer.h.0.attn.c_attn.weight"  # (8, 24), as (in, out)


def small() -> GPT2:
    return GPT2(Config(31, 8, 8, 2, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid model folder."""
    path = tmp_path_factory.mktemp("good") / "model"
    small().save_pretrained(path)
    return path


def entries(**values: Any) -> Change:
    """Replace entries of config.json."""

    def change(path: Path) -> None:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        (path / CONFIG).write_text(json.dumps({**config, **values}), encoding="utf-8")

    return change


def content(name: str, data: bytes) -> Change:
    return lambda path: (path / name).write_bytes(data)


def weights(change: Callable[[dict[str, Any]], Any]) -> Change:
    """Change the weights in place."""

    def apply(path: Path) -> None:
        file = mg.load(path / WEIGHTS)
        change(file)
        save_file(file, path / WEIGHTS)

    return apply


def half(path: Path) -> None:
    data = (path / WEIGHTS).read_bytes()
    (path / WEIGHTS).write_bytes(data[: len(data) // 2])


def index(files: dict[str, str]) -> Change:
    """Write an index instead of the weights file."""

    def change(path: Path) -> None:
        (path / WEIGHTS).unlink()
        (path / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": files}), encoding="utf-8")

    return change


BAD: dict[str, tuple[Change, type[Exception], str]] = {
    "no folder": (shutil.rmtree, FileNotFoundError, "there is no folder "),
    "no config": (lambda path: (path / CONFIG).unlink(), FileNotFoundError, "has no config.json, so it is not"),
    "no weights": (lambda path: (path / WEIGHTS).unlink(), FileNotFoundError, "has no weights file: expected"),
    "of another architecture": (entries(model_type="bert"), ValueError, "a model of type 'bert', but this class reads"),
    "of no architecture": (content(CONFIG, b"{}"), ValueError, "a model of type None, but this class reads 'gpt2'"),
    "config is a list": (content(CONFIG, b"[1]"), ValueError, "config.json is damaged: config.json is a list"),
    "config is cut off": (content(CONFIG, b'{"model_type": "gp'), ValueError, "config.json is damaged: Unterminated"),
    "config is no text": (content(CONFIG, b"\xff\xfe"), ValueError, "config.json is damaged: 'utf-8' codec"),
    "config is nested": (content(CONFIG, b"[" * 100_000), ValueError, "config.json is damaged: maximum recursion"),
    "a size that is no number": (entries(vocab_size="31"), ValueError, "vocab_size is '31', but should be of type int"),
    "a size below 1": (entries(n_layer=0), ValueError, "layers must be at least 1, not 0"),
    "a dropout that is none": (entries(resid_pdrop=2), ValueError, "dropout must be between 0 and 1, not 2"),
    "an epsilon that is NaN": (entries(layer_norm_epsilon=float("nan")), ValueError, "layer_norm_epsilon is nan"),
    "heads that do not divide": (entries(n_head=3), ValueError, "d_model (8) must be a multiple of heads (3)"),
    "an activation": (entries(activation_function="swish"), ValueError, "activation must be one of gelu_n"),
    "cross-attention": (entries(add_cross_attention=True), ValueError, "add_cross_attention = True; this model"),
    "a size beyond memory": (
        entries(vocab_size=10**12),
        ValueError,
        "width 8 and vocabulary 1,000,000,000,000, but the",
    ),
    "too many layers to begin": (entries(n_layer=10**9), ValueError, "describes a model with 1,000,000,000 layers"),
    "another vocabulary": (entries(vocab_size=32), ValueError, "wte.weight for embedding.weight as (31, 8), not (32"),
    "a layer more": (entries(n_layer=3), ValueError, "it lacks transformer.h.2.ln_1.weight, transformer.h.2.ln_1.bias"),
    "no head": (entries(tie_word_embeddings=False), ValueError, "it lacks lm_head.weight"),
    "a missing weight": (weights(lambda w: w.pop(FIRST)), ValueError, f"lacks {FIRST}"),
    "another shape": (
        weights(lambda w: w.update({"transformer.h.1.mlp.c_fc.weight": mg.zeros(8, 30)})),
        ValueError,
        "transformer.h.1.mlp.c_fc.weight for layers.1.feed_forward.inner.weight as (30, 8), not (32, 8)",
    ),
    "no three parts": (weights(lambda w: w.update({FIRST: mg.zeros(8, 25)})), ValueError, "cannot be split into 3"),
    "no axes": (weights(lambda w: w.update({FIRST: mg.zeros(())})), ValueError, "of shape () cannot be split into 3"),
    "whole numbers": (
        weights(lambda w: w.update({FIRST: mg.zeros(8, 24, dtype=mg.int8)})),
        ValueError,
        f"stores {FIRST} as minigrad.int8: weights must be",
    ),
    "half of the weights": (half, RuntimeError, "model.safetensors: it is truncated"),
    "none of the weights": (content(WEIGHTS, b""), EOFError, "model.safetensors: it is empty"),
    "no file of weights": (content(WEIGHTS, b"hello" * 100), RuntimeError, "it is not a tensor file"),
    "a list": (lambda path: mg.save([mg.ones(2)], path / WEIGHTS), ValueError, "dictionary of named weights"),
    "a part is missing": (index({FIRST: "part.safetensors"}), FileNotFoundError, "part.safetensors"),
    "parts elsewhere": (index({FIRST: "../part.safetensors"}), RuntimeError, "it refers to files outside its folder"),
    "damaged tokenizer": (content("tokenizer.json", b"{"), ValueError, "is damaged: EOF while parsing"),
    "half a tokenizer": (content("vocab.json", b"{}"), ValueError, "is damaged: it has vocab.json, but no merges.txt"),
}


def broken(folder: Path, place: Path, change: Change) -> Path:
    """A changed copy of a folder."""
    shutil.copytree(folder, place / "model")
    change(place / "model")
    return place / "model"


def test_one_clear_message(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    for number, (name, (change, kind, message)) in enumerate(BAD.items()):
        path = broken(folder, tmp_path / str(number), change)
        with pytest.raises(kind) as raised, warnings.catch_warnings():
            warnings.simplefilter("error")
            GPT2.from_pretrained(path)
        text = str(raised.value)
        assert message in text and "\n" not in text and len(text) < 500, name
        assert text.count(str(path)) == 1, name  # the message names the folder once


def test_a_tokenizer_of_another_size(folder: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")

    def vocabulary(size: int) -> Change:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(size)}, "w0"))
        return lambda path: tokenizer.save(str(path / "tokenizer.json"))

    with pytest.raises(ValueError, match="has 40 entries, but the vocabulary has 31: they belong to different"):
        GPT2.from_pretrained(broken(folder, tmp_path / "larger", vocabulary(40)))
    smaller = GPT2.from_pretrained(broken(folder, tmp_path / "smaller", vocabulary(30)))  # embeddings may be padded
    assert smaller.tokenizer.get_vocab_size() == 30


def test_entries_are_replaced_by_name(folder: Path) -> None:
    assert GPT2.from_pretrained(folder, resid_pdrop=0, attn_pdrop=0.3).config.dropout == 0.0
    with pytest.raises(ValueError, match="cannot change resid_drop: there is no such entry"):
        GPT2.from_pretrained(folder, resid_drop=0.0)
    with pytest.raises(ValueError, match=r"dropout must be between 0 and 1, not 2\.0"):
        GPT2.from_pretrained(folder, resid_pdrop=2.0)


def test_unknown_weights_are_named(folder: Path, tmp_path: Path) -> None:
    path = broken(folder, tmp_path, weights(lambda w: w.update({"score.weight": mg.zeros(2, 8)})))
    with pytest.warns(UserWarning, match=r"has weights unknown to GPT2: score\.weight") as warnings:
        model = GPT2.from_pretrained(path)
    assert warnings[0].filename == __file__
    expected = GPT2.from_pretrained(folder)
    assert all(mg.equal(p, q) for p, q in zip(model.parameters(), expected.parameters(), strict=True))


def test_a_model_keeps_its_weights_if_loading_fails(folder: Path) -> None:
    mg.manual_seed(184)  # a seed other than that of the file's weights
    model, file = small(), folder / WEIGHTS
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    good = mg.load(file)
    for bad in (
        {name: w for name, w in good.items() if name != FIRST},
        {**good, "transformer.wpe.weight": mg.zeros(9, 8)},
        {**good, FIRST: mg.zeros(8, 24, dtype=mg.int64)},
    ):
        with pytest.raises(ValueError):
            model.fill(bad, file)
        assert all(mg.equal(weight, before[name]) for name, weight in model.state_dict().items())
    model.fill(good, file)
    assert not mg.equal(model.embedding.weight, before["embedding.weight"])


def test_loading_draws_no_random_numbers(folder: Path) -> None:
    mg.manual_seed(3)
    expected = mg.rand(2).tolist()
    mg.manual_seed(3)
    GPT2.from_pretrained(folder)
    assert mg.rand(2).tolist() == expected


def test_saved_models_load_again(folder: Path, tmp_path: Path) -> None:
    model = GPT2.from_pretrained(folder)
    assert not model.training and model.tokenizer is None
    model.save_pretrained(tmp_path / "new" / "place")
    for name in (CONFIG, WEIGHTS):
        assert (tmp_path / "new" / "place" / name).read_bytes() == (folder / name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "new" / "place").iterdir()) == [CONFIG, WEIGHTS]


def test_weights_stay_in_the_file_and_changes_in_memory(folder: Path, tmp_path: Path) -> None:
    """Weights that the file has in the model's layout are not copied. A model can be saved where it was loaded."""
    shutil.copytree(folder, tmp_path / "model")
    model = GPT2.from_pretrained(tmp_path / "model")
    before = (tmp_path / "model" / WEIGHTS).read_bytes()
    assert not model.embedding.weight.array.flags.owndata
    assert model.layers[0].attention.query.weight.is_contiguous()  # transposed in the file
    first = model.embedding.weight.clone()
    model.generate([[1, 2]], 3)
    with mg.no_grad():
        model.embedding.weight[0] += 1
    assert (tmp_path / "model" / WEIGHTS).read_bytes() == before
    model.save_pretrained(tmp_path / "model")
    again = GPT2.from_pretrained(tmp_path / "model")
    assert (again.embedding.weight == model.embedding.weight).all()
    assert (again.embedding.weight[1:] == first[1:]).all() and (again.embedding.weight[0] == first[0] + 1).all()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("weights", ["int8", "bfloat16"])
def test_quantized_weights(weights: str, tied: bool, tmp_path: Path) -> None:
    """With and without a cache, a model with narrow weights computes nearly the same logits."""
    mg.manual_seed(0)
    GPT2(Config(31, 12, 32, 2, 2, tied=tied)).save_pretrained(tmp_path)
    wide, narrow = GPT2.from_pretrained(tmp_path), GPT2.from_pretrained(tmp_path, weights=weights)
    kinds = {name: value.dtype for name, value in narrow.state_dict().items()}
    assert kinds["embedding.weight"] is kinds["layers.1.feed_forward.outer.weight"] is getattr(mg, weights)
    assert kinds["position_embedding.weight"] is kinds["layers.0.attention.query.bias"] is mg.float32
    tokens = mg.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    expected = wide(tokens)
    assert float((narrow(tokens) - expected).abs().max()) < 0.02 * float(expected.abs().max())
    cached = narrow.begin(tokens.tolist()).next_logits(tokens)
    assert float((cached - narrow(tokens)[:, -1]).abs().max()) < 1e-4 * float(expected.abs().max())
    assert len(narrow.generate([[1, 2, 3]], 15)[0]) == 15


def test_unknown_weights(folder: Path) -> None:
    with pytest.raises(ValueError, match='weights must be "float32", "bfloat16" or "int8", not \'int4\''):
        GPT2.from_pretrained(folder, weights="int4")
