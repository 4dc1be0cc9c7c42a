"""``generate``, which users call first: it continues texts and tokens with each search."""

from typing import Any

import pytest

import minigrad as mg
from minigrad_models.generation import beam_search as generate
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.gpt.transformer_xl import Config as XLConfig, TransformerXL

CONTEXT = 16
TEXTS = ["abc 😀 é", "x", "漢字 ab"]


def small(vocabulary: int = 300) -> GPT2:
    mg.manual_seed(2)
    model = GPT2(Config(vocabulary, CONTEXT, 12, 2, 2))
    with mg.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * mg.randn(parameter.shape))
    return model.eval()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A token for each byte, "<|endoftext|>", and merges learned from the texts."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXTS * 3, 262, special_tokens=["<|endoftext|>"], show_progress=False)
    return tokenizers.Tokenizer.from_str(tokenizer.to_str())


def speaker(tokenizer: Any) -> GPT2:
    model = small(tokenizer.get_vocab_size())
    model.tokenizer = tokenizer
    return model


def tokens(hypotheses: list[generate.Hypothesis]) -> list[list[int]]:
    return [h.tokens for h in hypotheses]


PROMPTS = [[3, 1, 4], [9], [2, 6, 5, 3]]


def test_each_option_selects_its_search() -> None:
    model = small()
    assert model.generate(PROMPTS, 7) == tokens(generate.greedy(model.begin(PROMPTS), 7, None))
    assert model.generate(PROMPTS, [7, 2, 4], temperature=0) == tokens(
        generate.greedy(model.begin(PROMPTS), [7, 2, 4], None)
    )
    for options in ({"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.8}, {"temperature": 2.0, "top_k": 9, "top_p": 0.9}):
        mg.manual_seed(3)
        outputs = model.generate(PROMPTS, 7, **options)
        mg.manual_seed(3)
        assert outputs == tokens(generate.sample(model.begin(PROMPTS), 7, eos_token_id=None, **options))
    beams = generate.beam_search(model.begin(PROMPTS), 3, 7, eos_token_id=None)
    assert model.generate(PROMPTS, 7, num_beams=3) == [texts[0].tokens for texts in beams]
    penalised = generate.greedy(generate.RepetitionPenalty(model.begin(PROMPTS), 2.0), 7, None)
    assert model.generate(PROMPTS, 7, repetition_penalty=2.0) == tokens(penalised)


def test_a_window_moves_by_half_of_it_or_by_a_stride() -> None:
    model = small()
    for stride, moved in ((0, CONTEXT // 2), (3, 3), (1, 1)):
        expected = tokens(generate.greedy(model.begin(PROMPTS, stride=moved), 30, None))
        assert model.generate(PROMPTS, 30, stride=stride) == expected


def test_a_token_ends_a_text() -> None:
    model = small()
    (text,) = model.generate(PROMPTS[:1], 7)
    end = text[3]
    assert model.generate(PROMPTS[:1], 7, eos_token_id=end) == [text[: text.index(end) + 1]]


def test_texts(tokenizer: Any) -> None:
    model = speaker(tokenizer)
    end = tokenizer.token_to_id("<|endoftext|>")
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    expected = [tokenizer.decode(t) for t in model.generate(ids, 20, eos_token_id=end)]
    assert model.generate(TEXTS, 20) == expected
    assert model.generate(TEXTS[0], 20) == model.generate(TEXTS[:1], 20)[0] and isinstance(expected[0], str)
    with mg.no_grad():
        model.embedding.weight[end] *= 50  # now it is generated soon
    assert max(map(len, (model.generate(ids, 200)))) < 200
    assert not any("<|endoftext|>" in text for text in model.generate(TEXTS, 200))


def test_pieces_of_a_text_are_whole_characters(tokenizer: Any) -> None:
    model = speaker(tokenizer)
    ids = iter([*tokenizer.encode("é😀, ").ids, *tokenizer.encode("漢").ids[:-1]])

    class Says:
        """A decoder that generates the given tokens; the last one is half a character."""

        start = mg.tensor([[1]])

        def next_logits(self, text: mg.Tensor) -> mg.Tensor:
            return mg.nn.functional.one_hot(mg.tensor([next(ids)]), tokenizer.get_vocab_size()).float()

        def reorder(self, rows: mg.Tensor, num_beams: int) -> None:
            pass

    count = len(tokenizer.encode("é😀, ").ids) + len(tokenizer.encode("漢").ids) - 1
    assert count > 6
    model.begin = lambda *_, **__: Says()  # type: ignore[method-assign, assignment, return-value]
    reports: list[tuple[int, str]] = []
    text = model.generate("x", count, on_token=lambda *piece: reports.append(piece))
    assert text == "é😀, \ufffd" and [piece for _, piece in reports] == ["é", "😀", ",", " ", "\ufffd"]


def test_the_pieces_add_up_to_the_texts(tokenizer: Any) -> None:
    model = speaker(tokenizer)
    pieces = [""] * len(TEXTS)

    def hear(i: int, piece: str) -> None:
        pieces[i] += piece

    mg.manual_seed(1)
    assert model.generate(TEXTS, [40, 11, 25], temperature=1.0, on_token=hear) == pieces
    reports: list[tuple[int, int]] = []
    (row,) = model.generate(PROMPTS[:1], 5, on_token=lambda *token: reports.append(token))
    assert reports == [(0, token) for token in row]


def test_dropout_is_off_during_generation() -> None:
    model = small()
    expected = model.generate(PROMPTS, 9)
    assert model.train().generate(PROMPTS, 9) == expected and model.training and model.layers[0].training
    with pytest.raises(ValueError):
        model.generate([[]])
    assert model.training
    model.eval().generate(PROMPTS, 1)
    assert not model.training


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "each prompt needs at least one token"),
    ([[1, 300]], {}, "a prompt has token 300, but the vocabulary ends at 299"),
    ("abc", {}, "the model has no tokenizer: pass prompts as tokens"),
    (["abc"], {}, "the model has no tokenizer: pass prompts as tokens"),
    ([[1]], {"max_new_tokens": 0}, "max_new_tokens must be at least 1"),
    ([[1]], {"max_new_tokens": [1, 2]}, "2 limits for 1 sentences"),
    ([[1]], {"temperature": -1.0}, "temperature must be positive"),
    ([[1]], {"top_k": 0}, "top_k must be at least 1"),
    ([[1]], {"top_p": 1.5}, "top_p must be above 0"),
    ([[1]], {"temperature": 0, "top_k": 5}, "top_k is for sampling, but temperature 0 picks the likeliest token"),
    ([[1]], {"num_beams": 2, "top_p": 0.5}, "top_p is for sampling, but num_beams searches for the likeliest text"),
    ([[1]], {"num_beams": 2, "temperature": 1.0}, "temperature is for sampling, but num_beams"),
    ([[1]], {"num_beams": 2, "on_token": print}, "beam search returns them only at the end"),
    ([[1]], {"num_beams": 0}, "num_beams must be at least 1, not 0"),
    ([[1]], {"repetition_penalty": 0.0}, "repetition_penalty must be a positive number"),
    ([[1]], {"stride": 17}, r"stride must be between 1 and the model's context \(16\), not 17"),
]


def test_bad_input(tokenizer: Any) -> None:
    for prompts, options, message in WRONG:
        with pytest.raises(ValueError, match=message):
            small().generate(prompts, **options)
    with pytest.raises(ValueError, match="there must be a prompt, and each prompt needs at least one token"):
        speaker(tokenizer).generate("")


def test_a_model_without_a_window_generates_too() -> None:
    model = TransformerXL(XLConfig(20, 8, 2, 1, 8, 4, 4)).eval()
    expected = tokens(generate.greedy(model.begin(PROMPTS), 7, None))
    assert model.generate(PROMPTS, 7) == expected
    with pytest.raises(ValueError, match="but this model has a memory instead"):
        model.generate(PROMPTS, 7, stride=2)


def test_old_names_of_arguments_warn() -> None:
    model: Any = small()
    greedy: Any = generate.greedy
    with pytest.warns(FutureWarning, match="generate: beams is now num_beams"):
        assert model.generate(PROMPTS, 5, beams=2) == model.generate(PROMPTS, 5, num_beams=2)
    with pytest.warns(FutureWarning, match="greedy: eos is now eos_token_id"):
        greedy(model.begin(PROMPTS), 5, eos=None)
    with pytest.warns(FutureWarning, match="forward: tokens is now input_ids"):
        assert mg.equal(model(tokens=mg.tensor([[1, 2]])), model(input_ids=mg.tensor([[1, 2]])))
