"""GPT-2 against the transformers library, in both directions: the same numbers, gradients and texts."""

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F
from minigrad_models.generation import beam_search as generate
from minigrad_models.gpt.gpt2 import GPT2, Config
from tests.support.hugging_face import gpt2, in_torch, needs_transformers, saved
from tests.support.parity import assert_close

RTOL = {mg.float32: 1e-4, mg.float64: 1e-10}
V = 31
# A configuration, the lengths of the rows (negative: left padding), and the dtype.
Lengths = tuple[int, ...] | None
VARIANTS: dict[str, tuple[dict[str, Any], Lengths, mg.dtype]] = {
    "as published": ({}, None, mg.float32),
    "exact gelu, wide": ({"activation_function": "gelu", "n_inner": 20}, (-9, -4, -7), mg.float64),
    "a head of its own": ({"activation_function": "relu", "tie_word_embeddings": False}, (9, 4, 7), mg.float64),
    "one head": ({"activation_function": "gelu_pytorch_tanh", "n_head": 1}, None, mg.float64),
}
TOKENS = [[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2], [30, 0, 29, 1, 28, 2, 27, 3, 26]]


def small(device: str = "cpu", **changes: Any) -> GPT2:
    """A model in evaluation mode whose norms and biases are not 1 and 0."""
    mg.manual_seed(1)
    model = GPT2(Config(**{"vocabulary": V, "positions": 16, "d_model": 8, "heads": 2, "layers": 2, **changes}))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * mg.randn(parameter.shape))
    return model.to(device).eval()


def padding(lengths: Lengths) -> Tensor | None:
    """A mask of rows with these numbers of tokens; a negative number means left padding."""
    if lengths is None:
        return None
    return mg.tensor([[i < n if n > 0 else i >= 9 + n for i in range(9)] for n in lengths])


def labels(tokens: Tensor, mask: Tensor | None) -> Tensor:
    """The token that each position's predecessor has to predict; -100 at padding and at the first token after it."""
    if mask is None:
        return tokens
    return mg.cat((tokens[:, :1], tokens[:, 1:].masked_fill(~(mask[:, 1:] & mask[:, :-1]), -100)), 1)


def theirs_of(model: Any, tokens: Tensor, mask: Tensor | None) -> Any:
    """The output of transformers: loss, logits, hidden states; positions begin after the padding."""
    options = {"labels": labels(tokens, mask)}
    if mask is not None:
        options |= {"attention_mask": mask.long(), "position_ids": (mask.long().cumsum(1) - 1).clamp(min=0)}
    tensors = {name: in_torch(x) for name, x in options.items()}
    return model(in_torch(tokens), **tensors, output_hidden_states=True)


@needs_transformers
@pytest.mark.parametrize("name", VARIANTS)
def test_states_logits_loss_and_all_gradients(name: str, tmp_path: Path) -> None:
    variant, lengths, dtype = VARIANTS[name]
    theirs = gpt2(**variant)
    ours = GPT2.from_pretrained(saved(theirs, tmp_path)).to(dtype)
    theirs = theirs.double() if dtype == mg.float64 else theirs
    tokens, mask, rtol = mg.tensor(TOKENS), padding(lengths), RTOL[dtype]
    expected = theirs_of(theirs, tokens, mask)
    text = mg.ones(tokens.shape, dtype=mg.bool) if mask is None else mask  # not the states of padding
    states = ours.hidden_states(tokens, mask)
    assert len(states) == len(expected.hidden_states) == ours.config.layers + 1
    for i, (state, other) in enumerate(zip(states, expected.hidden_states, strict=True)):
        assert_close(state[text], other[in_torch(text)], rtol, f"state {i}")
    assert_close(ours(tokens, mask)[text], expected.logits[in_torch(text)], rtol, "logits")
    targets = labels(tokens, mask)
    loss = ours.loss(tokens[:, :-1], targets[:, 1:], attention_mask=None if mask is None else mask[:, :-1])
    assert_close(loss, expected.loss, 1e-4, "loss")
    cross_entropy = importlib.import_module("torch").nn.functional.cross_entropy  # transformers' loss is always float32
    theirs_loss = cross_entropy(expected.logits[:, :-1].flatten(0, 1), in_torch(targets[:, 1:]).flatten())
    assert_close(loss, theirs_loss, rtol, "loss")
    loss.backward()
    theirs_loss.backward()
    derivatives = ours.to_theirs({name: p.grad for name, p in ours.named_parameters() if p.grad is not None})
    parameters = dict(theirs.named_parameters())
    assert derivatives.keys() == parameters.keys()
    for name, derivative in derivatives.items():
        assert_close(derivative, parameters[name].grad, rtol, f"gradient of {name}")


def continued(theirs: Any, prompts: list[list[int]], new: int, **options: Any) -> list[list[int]]:
    """The tokens that transformers' ``generate`` appends to prompts, left-padded with token 0."""
    torch = importlib.import_module("torch")
    longest = max(map(len, prompts))
    rows = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    output = theirs.generate(rows, attention_mask=mask, max_new_tokens=new, **options)
    return [row[longest:] for row in output.tolist()]


@needs_transformers
def test_greedy_beam_and_penalised_texts(tmp_path: Path) -> None:
    theirs = gpt2()
    ours = GPT2.from_pretrained(saved(theirs, tmp_path))
    prompts, new = [[3, 1, 4, 1, 5], [9], [2, 6]], 10
    expected = continued(theirs, prompts, new, do_sample=False)
    assert [h.tokens for h in generate.greedy(ours.begin(prompts), new, None)] == expected
    for width in (2, 4):
        expected = continued(theirs, prompts, new, do_sample=False, num_beams=width)
        beams = generate.beam_search(ours.begin(prompts), width, new, 0.0, eos_token_id=None)
        assert [hypotheses[0].tokens for hypotheses in beams] == expected
    for penalty, prompt in itertools.product((1.3, 0.8), prompts):  # one by one: transformers also penalises padding
        expected = continued(theirs, [prompt], new, do_sample=False, repetition_penalty=penalty)
        decoder = generate.RepetitionPenalty(ours.begin([prompt]), penalty)
        assert [h.tokens for h in generate.greedy(decoder, new, None)] == expected
    first = continued(theirs, prompts, new, do_sample=False)[0]
    end = first[3]
    expected = continued(theirs, prompts, new, do_sample=False, eos_token_id=end)
    for h, row in zip(generate.greedy(ours.begin(prompts), new, end), expected, strict=True):
        assert h.tokens == row[: len(h.tokens)] and not any(row[len(h.tokens) :])  # padding follows
        assert h.tokens[-1] == end or len(h.tokens) == new


@needs_transformers
@pytest.mark.parametrize("tied", [True, False])
def test_transformers_reads_our_files(tied: bool, tmp_path: Path) -> None:
    transformers = importlib.import_module("transformers")
    ours = small(tied=tied, d_ff=20, activation="gelu", epsilon=1e-3, dropout=0.25)
    ours.save_pretrained(tmp_path)
    theirs, report = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert theirs.config.resid_pdrop == 0.25 and theirs.config.tie_word_embeddings is tied
    tokens = mg.tensor(TOKENS)
    assert_close(ours(tokens), theirs.eval()(in_torch(tokens)).logits, 1e-4)
    again = GPT2.from_pretrained(tmp_path)
    assert again.config == ours.config
    assert all(mg.equal(p, q) for p, q in zip(ours.parameters(), again.parameters(), strict=True))


@needs_transformers
def test_other_layouts_of_the_same_weights(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    torch = importlib.import_module("torch")
    theirs, tokens = gpt2(), mg.tensor(TOKENS)
    folder = saved(theirs, tmp_path)
    expected = GPT2.from_pretrained(folder)(tokens)
    (folder / "model.safetensors").unlink()
    weights = {name: value.clone() for name, value in theirs.state_dict().items() if name != "lm_head.weight"}
    linear = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    masks = {f"transformer.h.{i}.attn.bias": torch.ones(1, 1, 16, 16, dtype=torch.uint8) for i in range(2)}
    layouts = {
        "PyTorch's archive": weights,
        "with the head, which is the embedding": theirs.state_dict(),
        "the bare model": {name.removeprefix("transformer."): value for name, value in weights.items()},
        "masks as buffers": weights | masks,
        "layers as (out, in)": {n: w.T.contiguous() if n.endswith(linear) else w for n, w in weights.items()},
    }
    for name, layout in layouts.items():
        torch.save(layout, folder / "pytorch_model.bin")
        assert mg.equal(GPT2.from_pretrained(folder)(tokens), expected), name
    bare = tmp_path / "bare"
    saved(theirs.transformer, bare)  # GPT2Model, in safetensors
    assert mg.equal(GPT2.from_pretrained(bare)(tokens), expected)
    assert not [w for w in recwarn if "models" in w.filename or "test_gpt2" in w.filename]


@needs_transformers
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_weights_of_other_dtypes_and_in_several_files_become_float32(dtype: str, tmp_path: Path) -> None:
    torch = importlib.import_module("torch")
    theirs = gpt2().to(getattr(torch, dtype))
    theirs.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    ours = GPT2.from_pretrained(tmp_path)
    assert {p.dtype for p in ours.parameters()} == {mg.float32}
    for name, weight in ours.to_theirs(ours.state_dict()).items():
        assert mg.equal(weight, mg.tensor(theirs.state_dict()[name].float().numpy())), name


def test_targets_that_are_ignored() -> None:
    model, tokens = small(), mg.tensor(TOKENS)
    targets = tokens.roll(-1, 1)
    targets[:, 0] = targets[:, -1] = 0
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), ignore_index=0)
    assert math.isclose(float(loss), float(model.loss(tokens, targets, ignore=0)), rel_tol=1e-5)


def test_weights_are_initialized_as_in_the_paper() -> None:
    mg.manual_seed(0)
    model = GPT2(Config(400, 200, 64, 4, 8))
    layer = model.layers[0]
    assert isinstance(layer, mg.nn.Module)
    plain = (model.embedding, model.position_embedding, layer.attention.query, layer.feed_forward.inner)
    residual = (layer.attention.output, layer.feed_forward.outer)  # of 2 · 8 residual branches, which add up
    for parts, std in ((plain, 0.02), (residual, 0.02 / 4)):
        assert all(math.isclose(float(part.weight.std()), std, rel_tol=0.05) for part in parts)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("bias"))
    assert sum(p.numel() for p in GPT2(Config(layers=1)).parameters()) == 50257 * 768 + 1024 * 768 + 7_087_872 + 1536


def test_invalid_configurations() -> None:
    wrong: dict[str, dict[str, Any]] = {
        r"d_model \(8\) must be a multiple of heads \(3\)": {"heads": 3},
        "layers must be at least 1, not 0": {"layers": 0},
        "d_ff must be at least 1, not -1": {"d_ff": -1},
        "attention_dropout must be between 0 and 1, not 1.5": {"attention_dropout": 1.5},
        "activation must be one of relu, gelu, gelu_tanh, not 'swish'": {"activation": "swish"},
    }
    for message, changes in wrong.items():
        with pytest.raises(ValueError, match=message):
            small(**changes)
    with pytest.raises(ValueError, match="5 tokens do not fit in the 4 that the model sees at once"):
        small(positions=4)(mg.zeros(1, 5, dtype=mg.int64))
