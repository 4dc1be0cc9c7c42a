"""Subwords: texts make the round trip, the same texts yield the same vocabulary, and errors are clear."""

import os
import pickle
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text import SubwordTokenizer, tokenizer_from_dict
from minigrad_models.text.tokenizer import BOS, EOS, PAD, SPECIAL, UNKNOWN

tokenizers = pytest.importorskip("tokenizers")

ROOT = Path(__file__).parents[3]

TEXTS = ["two young men are outside .", "several men in hard hats", "a little girl climbs , slowly ."] * 5

HARD = [
    "it's John's dog, and the dogs' bed; she won't",
    "un jour d'hiver, aujourd'hui, l’été",
    'He said: "No!" (twice) [so] {it} went...',
    "« Bonjour », dit-elle ; „gut“ ‚so‘",
    "pi is 3.5, not 1,000.75 or 10:30 or 7.",
    "the U.S. and z.B. the U.S.A., e.g. this",
    "http://www.example.com/a_b?c=d&e=%20#f, me@here.org",
    "a blond-haired 10-year-old -- Leder- und Holz - so",
    "wait.... what?!?! *** === ~~~ ---",
    "👍🏽 👨‍👩‍👧 ❤️ ok 🇮🇹!",
    "漢字仮名交じり文。「引用」、終わり",
    "می‌خواهم नमस्ते สวัสดี",
    "e\u0301a\u0308 q\u0307\u0323 \u0301x",
    "&apos;s &quot; &amp; &#39; & &x",
    "<s>bold</s> <unk> <pad> <b>x</b>",
    "  two   spaces\tand\u00a0a tab \u2003",
    "_▁_ ▁ ▁▁x",
    "Ärger, ÉCOLE, Straße ﬁn Ⅷ ½",
    *(".", "-", "'", "a", ""),
]


def train(texts: Any, *args: Any, **options: Any) -> SubwordTokenizer:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the texts give")
        return SubwordTokenizer.train(texts, *args, **options)


def plain(text: str) -> str:
    return " ".join(text.replace("▁", "_").split())


def test_subwords() -> None:
    t = SubwordTokenizer.train(TEXTS, 50)
    assert len(t) == 50 and [t.token(i) for i in range(4)] == list(SPECIAL)
    for text in TEXTS[:3]:
        ids = t.encode(text)
        assert min(ids) > UNKNOWN and t.decode([BOS, *ids, EOS, 9]) == text
        assert "".join(t.token(i) for i in ids) == " " + text
    assert t.unknown("men 漢 are e\u0301") == ["漢", "é"]
    assert t.decode(t.encode("men 漢 are")) == "men <unk> are"
    assert t.decode([PAD, EOS]) == "" and t.encode(" ") == []
    assert t.decode(t.encode("men are")[1:]) == "are"
    assert t.encode_batch(iter(TEXTS[:3])) == [t.encode(text) for text in TEXTS[:3]]
    assert pickle.loads(pickle.dumps(t)).encode(TEXTS[0]) == t.encode(TEXTS[0])


@pytest.mark.parametrize("vocabulary", [270, 1000])
def test_hard_texts_make_the_round_trip(vocabulary: int) -> None:
    t = train(HARD, vocabulary, min_frequency=1)
    for text in HARD:
        expected = plain(unicodedata.normalize("NFC", text))
        assert t.decode(t.encode(text)) == expected
        assert t.prepare(text) == expected and t.encode(expected) == t.encode(text)
    assert t.encode_batch(HARD) == [t.encode(text) for text in HARD]


def test_punctuation_is_separate_as_with_moses() -> None:
    model = train(HARD).model

    def words(text: str) -> list[str]:
        return [word for word, _ in model.pre_tokenizer.pre_tokenize_str(model.normalizer.normalize_str(text))]

    assert words("Hello, (world)!") == ["▁Hello", ",", "▁(", "world", ")", "!"]
    assert words("it's d'hiver, dogs'.") == ["▁it's", "▁d'hiver", ",", "▁dogs", "'", "."]
    assert words('3.5 1,000. U.S. "so"...') == ["▁3.5", "▁1,000", ".", "▁U.S.", '▁"', "so", '"', "..."]
    assert words("blond-haired Leder- --") == ["▁blond-haired", "▁Leder", "-", "▁--"]
    assert words("mcdonald &apos;s &quot; a&b") == ["▁mcdonald", "▁&apos;", "s", "▁&quot;", "▁a", "&", "b"]


def test_normal_forms() -> None:
    t = train(HARD, min_frequency=1)
    assert t.decode(t.encode("E\u0301COLE ﬁn")) == t.prepare("E\u0301COLE ﬁn") == "\xc9COLE ﬁn"
    assert train(HARD).prepare("a \udcff b") == "a ? b"  # how Python decodes a byte that is not UTF-8


def test_the_same_texts_give_the_same_vocabulary() -> None:
    first, again = (SubwordTokenizer.train(TEXTS, 30).as_dict() for _ in range(2))
    assert first == again != SubwordTokenizer.train(iter(TEXTS), 32).as_dict()


LEARN = """
from minigrad_models.text import SubwordTokenizer
texts = ["several young women walk outside together", "a young man walks"] * 50
tokenizer = SubwordTokenizer.train(texts, 50)
print(tokenizer.as_dict())
"""


@pytest.mark.nightly
def test_another_process_learns_the_same_vocabulary() -> None:
    printed = []
    for seed, threads in ("01", "12"):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        printed.append(subprocess.check_output([sys.executable, "-c", LEARN], cwd=ROOT, env=settings))
    assert printed[0] == printed[1] and len(printed[0]) > 500


FORK = """
import os, sys
from minigrad_models.text import SubwordTokenizer
texts = ["a cat sat on the mat"] * 2000
tokenizer = SubwordTokenizer.train(texts, 30)
before = tokenizer.encode_batch(texts)
child = os.fork()
if child == 0:
    os._exit(0 if tokenizer.encode_batch(texts) == before else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_print_nothing_and_can_encode() -> None:
    settings = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    command: Any = {"args": [sys.executable, "-W", "ignore", "-c", FORK], "cwd": ROOT, "env": settings}
    assert subprocess.check_output(**command, stderr=subprocess.STDOUT, timeout=300) == b"0\n"


def test_small_and_bad_corpora() -> None:
    for texts in ([], ["", "  "], ["\u2028"]):
        with pytest.raises(ValueError, match="cannot learn subwords"):
            SubwordTokenizer.train(texts, 100)
    with pytest.warns(UserWarning, match="the texts give only 9 subwords, not 100"):
        t = SubwordTokenizer.train(["word"], 100)
    assert len(t) == 9 and t.decode(t.encode("word")) == "word"
    with pytest.raises(ValueError, match=r"a vocabulary of 6 is too small for the .*characters of"):
        SubwordTokenizer.train(["abcdefgh"], 6)
    with pytest.raises(ValueError, match="a vocabulary of 4 leaves no subwords: 4 tokens are special"):
        SubwordTokenizer.train(["abcdefgh"], 4)
    for most in (1_000_001, 10**9, 2**62, 2**70):  # the library would allocate all of it, or crash the program
        with pytest.raises(ValueError, match=rf"^a vocabulary of {most:,} tokens is too large: at most 1,000,000$"):
            SubwordTokenizer.train(["abcdefgh"], most)
    for texts in (["x" * 10_000], [" ".join(["so"] * 10_000)], ["漢字仮名" * 2000]):
        t = train(texts, 100)
        assert t.decode(t.encode(texts[0])) == texts[0]


def test_descriptions_of_earlier_versions_still_load() -> None:
    model = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    model.normalizer = tokenizers.normalizers.NFC()
    model.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    model.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=60, special_tokens=list(SPECIAL), show_progress=False)
    model.train_from_iterator(TEXTS, trainer)
    t = tokenizer_from_dict({"kind": "subwords", "json": model.to_str()})
    assert len(t) == model.get_vocab_size()
    for text in TEXTS[:3]:
        assert t.encode(text) == model.encode(text).ids
        assert t.decode(t.encode(text)) == model.decode(model.encode(text).ids) == text
    assert EOS not in t.encode("</s>")


def test_digits_are_split_on_request() -> None:
    """An unseen number then consists of known tokens; words are unchanged."""
    texts = ["1984 people", "in 1984, people", "84 people", "19.5 people"] * 5
    plain, split = SubwordTokenizer.train(texts, 33), SubwordTokenizer.train(texts, 26, split_digits=True)
    assert [split.token(i) for i in split.encode("in 1984 people")] == [" in", " ", "1", "9", "8", "4", " people"]
    assert len(plain.encode("in 1984 people")) == 3
    assert split.decode(split.encode("8,491.5 people")) == "8,491.5 people"
    assert SubwordTokenizer.from_dict(split.as_dict()).encode("4891") == split.encode("4891")
