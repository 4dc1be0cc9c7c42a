"""Generates the images in docs/gallery, which docs/viz.md shows, from models trained with fixed seeds.

    python docs/gallery.py [NAME ...] [--check] [--folder DIR] [--run DIR]

Most images show a small translator of noun phrases, which is trained in a few seconds and stored in the run's folder.
The piano rolls show the round below. The .png files are screenshots of pages in Chromium and need playwright and Pillow
(the extra "dev").
"""

from __future__ import annotations

import argparse
import io
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import minigrad as mg  # noqa: E402
from minigrad import nn, viz  # noqa: E402
from minigrad.viz.attention import AttentionView  # noqa: E402
from minigrad_models import viz as model_viz  # noqa: E402
from minigrad_models.gpt.gpt2 import GPT2, Config as GPT2Config  # noqa: E402
from minigrad_models.music.midi import Note, ordered  # noqa: E402
from minigrad_models.text import WordTokenizer  # noqa: E402
from minigrad_models.text.tokenizer import BOS, EOS, PAD, UNKNOWN  # noqa: E402
from minigrad_models.training import LoaderBatches, Settings, Trainer, cosine  # noqa: E402
from minigrad_models.translation.transformer import Config, Transformer, pad  # noqa: E402
from minigrad_models.viz.blocks import Matrix, show, times  # noqa: E402
from minigrad_models.viz.embedding import Embedding  # noqa: E402
from minigrad_models.viz.logit_lens import LogitLens  # noqa: E402
from minigrad_models.viz.piano_roll import PianoRoll  # noqa: E402

FOLDER = ROOT / "docs" / "gallery"
MOST = {".svg": 60_000, ".png": 120_000}  # maximum bytes of an image
MOST_IN_ALL = 1_000_000  # maximum bytes of the gallery
COLOURS = 128  # in a screenshot: a third of the bytes, without visible loss
STEPS = 240
SHOWN = "the red house and the white dog", "la casa rossa e il cane bianco"

# The round. Each bar has the chords C, G, A minor and G, so that voices that enter one bar apart harmonize. Each line
# is a bar of notes, with their MIDI pitches and their lengths in quarter notes.
ROUND = [
    *[(72, 1.0), (71, 1.0), (69, 0.5), (72, 0.5), (71, 1.0)],
    *[(76, 1.0), (74, 1.0), (72, 0.5), (76, 0.5), (74, 1.0)],
    *[(79, 0.5), (76, 0.5), (79, 1.0), (81, 0.5), (76, 0.5), (74, 0.5), (79, 0.5)],
    *[(72, 0.5), (76, 0.5), (74, 0.5), (79, 0.5), (76, 1.0), (71, 0.5), (67, 0.5)],
]
TEMPO = 100.0

# In Italian, the adjective follows the noun, and both the adjective and the article agree with its gender. To write
# "rossa", the model has to look at two words, one for the meaning and one for the ending.
NOUNS = {
    "book": "libro",
    "cat": "gatto",
    "dog": "cane",
    "train": "treno",
    "house": "casa",
    "door": "porta",
    "moon": "luna",
    "boat": "barca",
}
FEMININE = ("house", "door", "moon", "boat")
ADJECTIVES = {"red": "ross", "white": "bianc", "black": "ner", "small": "piccol", "new": "nuov", "old": "vecchi"}


def phrases() -> list[tuple[str, str]]:
    """All pairs of two noun phrases joined by "and": English and Italian."""
    single = []
    for noun, adjective in itertools.product(NOUNS, (None, *ADJECTIVES)):
        article, ending = ("la", "a") if noun in FEMININE else ("il", "o")
        phrase = f" {ADJECTIVES[adjective]}{ending}" if adjective else ""
        english = f"the {adjective} {noun}" if adjective else f"the {noun}"
        single.append((english, f"{article} {NOUNS[noun]}{phrase}"))
    pairs = itertools.permutations(single, 2)
    return [(f"{one[0]} and {other[0]}", f"{one[1]} e {other[1]}") for one, other in pairs]


class Translator:
    """A transformer that learns to translate noun phrases, with one in ten of them held out.

    Args:
        run: the folder of its training run, which is reused if it exists.
    """

    def __init__(self, run: Path, steps: int = STEPS) -> None:
        self.run, self.steps = run, steps
        pairs = phrases()
        self.words = WordTokenizer.train(text for pair in pairs for text in pair)
        self.unseen = [pair for i, pair in enumerate(pairs) if i % 10 == 0 or pair == SHOWN]
        self.seen = [pair for i, pair in enumerate(pairs) if i % 10 and pair != SHOWN]

    @cached_property
    def model(self) -> Transformer:
        """The trained model. Its accuracy on unseen phrases is printed after training."""
        mg.manual_seed(0)
        config = Config(len(self.words), d_model=32, heads=4, layers=2, d_ff=64, positions=16)
        model = Transformer(config)
        rare = max(self.steps // 12, 1)
        adam = mg.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.98))
        Trainer(
            model,
            adam,
            LoaderBatches(self.seen, 64, self.batch, seed=0),
            lambda model, batch: (model.loss(*batch), int((batch[1][:, 1:] != PAD).sum())),
            folder=self.run,
            evaluate=self.accuracy,
            extra={"config": [self.steps, config.as_dict()]},
            settings=Settings(self.steps, evaluate_every=rare, keep_snapshots=12, log_every=1),
            schedule=mg.optim.lr_scheduler.LambdaLR(adam, cosine(self.steps // 10, self.steps)),
        ).fit()
        print(f"unseen phrases translated exactly: {self.accuracy(model.eval())['exact']:.0%}", flush=True)
        return model

    @cached_property
    def language_model(self) -> GPT2:
        """A GPT-2 that learns to continue each phrase with its translation, as one text."""
        mg.manual_seed(0)
        sizes: dict[str, Any] = {"positions": 24, "d_model": 48, "heads": 4, "layers": 4}
        model = GPT2(GPT2Config(len(self.words), **sizes, dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0))
        Trainer(
            model,
            mg.optim.AdamW(model.parameters(), lr=3e-3),
            LoaderBatches(self.seen, 64, self.texts, seed=0),
            lambda model, batch: (model.loss(batch[:, :-1], batch[:, 1:], PAD), int((batch[:, 1:] != PAD).sum())),
            folder=self.run / "language_model",
            extra={"config": [self.steps, sizes]},
            settings=Settings(self.steps),
        ).fit()
        return model.eval()

    def texts(self, pairs: Sequence[tuple[str, str]]) -> mg.Tensor:
        """Phrases, each followed by its translation (B, T), padded."""
        encode = self.words.encode
        return pad([[*encode(s), EOS, *encode(t), EOS] for s, t in pairs])

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[mg.Tensor, mg.Tensor]:
        """Sentences as tokens: source (B, S) and target (B, T), padded."""
        encode = self.words.encode
        return pad([[*encode(s), EOS] for s, _ in pairs]), pad([[BOS, *encode(t), EOS] for _, t in pairs])

    def accuracy(self, model: Any) -> dict[str, float]:
        """The loss on unseen phrases, and the fraction of them that is translated exactly."""
        source, target = self.batch(self.unseen)
        outputs = [[t for t in row if t not in (PAD, EOS)] for row in model.greedy(source, 12).tolist()]
        right = sum(row == self.words.encode(t) for row, (_, t) in zip(outputs, self.unseen, strict=True))
        with mg.no_grad():
            return {"loss": float(model.loss(source, target)), "exact": right / len(outputs)}

    @property
    def example(self) -> tuple[mg.Tensor, mg.Tensor]:
        """An unseen phrase and the decoder's input for its translation: (1, S) and (1, T)."""
        source, target = self.batch([SHOWN])
        return source, target[:, :-1]

    @property
    def named(self) -> dict[str, Any]:
        """The token names and the title for images of the example."""
        return {"tokens": (self.words.token, self.words.token), "title": "The red house"}

    def attention(self) -> AttentionView:
        """The view of the example's attention."""
        return viz.attention(self.model, *self.example, **self.named)

    def logit_lens(self) -> LogitLens:
        """The language model's logit lens on the example."""
        return model_viz.logit_lens(self.language_model, self.texts([SHOWN]), self.words, title="The red house")

    def embedding(self) -> Embedding:
        """The embeddings of all words except the special tokens."""
        first = UNKNOWN + 1
        return model_viz.embedding(self.model.embedding.weight[first:], self.words.words[first:], title="Words")


def canon(voices: int = 3, rounds: int = 2) -> list[Note]:
    """The round, each voice an octave lower and a bar later than the previous one."""
    notes, quarter = [], 60 / TEMPO
    for voice in range(voices):
        at = 4.0 * voice
        for pitch, length in ROUND * rounds:
            start, end = at * quarter, (at + 0.94 * length) * quarter
            notes.append(Note(pitch - 12 * voice, 100 - 15 * voice, start, end, voice))
            at += length
    return ordered(notes)


def piano_roll_of_canon() -> PianoRoll:
    """A piano roll with two hand-made attention heads: one finds the imitated note, the other the previous note."""
    notes = canon()
    start, pitch, voice = (mg.tensor([float(note[i]) for note in notes]) for i in (2, 0, 4))
    bars = start / (240 / TEMPO)
    melody, place = pitch + 12 * voice, bars - voice  # in the round itself
    imitated = -((melody[:, None] - melody) ** 2) / 2 - 60 * (place[:, None] - place) ** 2
    last = 2.0 * (bars - bars[:, None])
    earlier = mg.ones(len(notes), len(notes)).tril(-1)
    weights = mg.stack([imitated, last]).masked_fill(earlier == 0, -1e9).softmax(-1) * earlier
    names = ["treble", "tenor", "bass"]
    return model_viz.piano_roll(notes, attention=weights[None], tempo=TEMPO, tracks=names, title="A round")


def photograph(view: Any, size: tuple[int, int], act: Callable[[Any], None], dark: bool = False) -> bytes:
    """A screenshot of a view's page in offline Chromium, after ``act`` has run on it: a PNG with few colours."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is not installed (on Debian: apt install chromium)")
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = view.save(Path(folder) / "page.html")
        browser = driver.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            offline=True,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        page.set_default_timeout(120_000)
        page.goto(file.as_uri())
        act(page)
        screenshot = page.screenshot()
        browser.close()
    file = io.BytesIO()
    few = Image.open(io.BytesIO(screenshot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(file, "PNG", optimize=True)
    return file.getvalue()


# The pictures ---------------------------------------------------------------------------------------------


def attention(translator: Translator) -> str:
    """The attention of each output word to the source, in the last layer."""
    return translator.attention().svg("matrix", kind="cross")


def attention_model(translator: Translator) -> str:
    """All heads of all layers of the encoder."""
    return translator.attention().svg("model", kind="encoder")


def attention_page(translator: Translator) -> bytes:
    """The page, with the pointer on an output word."""

    def point(page: Any) -> None:
        page.wait_for_selector("#view > *")
        page.click("#kind-2")
        page.click("#later")
        page.hover('.token[data-side="0"]:has-text("casa")')

    return photograph(translator.attention(), (900, 540), point)


def linked(translator: Translator) -> bytes:
    """Attention and graph, after following the link from the last cross-attention to the op that computed it."""

    def follow(page: Any) -> None:
        page.wait_for_selector("iframe.graph")
        attention, graph = (handle.content_frame() for handle in page.query_selector_all("iframe"))
        graph.wait_for_selector("[data-state=done]")
        attention.wait_for_selector("#find")
        attention.click("#kind-2")
        attention.click("#later")
        attention.click("#find")
        graph.wait_for_selector("#panel .look")
        attention.hover('.token[data-side="0"]:has-text("casa")')

    return photograph(viz.linked(translator.model, *translator.example, **translator.named), (1400, 760), follow)


def positional_encoding(_: Translator) -> str:
    """The encodings of 32 positions in 64 dimensions, and some of their sinusoids."""
    return model_viz.positional_encoding(32, 64).svg()


def embedding(translator: Translator) -> str:
    """All words, in the first two principal components."""
    return translator.embedding().svg()


def logit_lens(translator: Translator) -> str:
    """A language model's prediction after each of its layers."""
    return translator.logit_lens().svg()


def logit_lens_page(translator: Translator) -> bytes:
    """The page, with the pointer on the second of four layers, which already knows the word after "casa"."""

    def point(page: Any) -> None:
        page.wait_for_selector("#lens .cell")
        page.focus("#lens svg.grid")
        page.keyboard.press("End")
        page.wait_for_timeout(200)
        scrolled = page.evaluate("lens.scroller.scrollLeft")
        page.hover("#lens svg.grid", position={"x": 80 * 9.5 - scrolled, "y": 24 + 26 * 2.5})
        page.wait_for_timeout(200)

    return photograph(translator.logit_lens(), (1180, 720), point, dark=True)


def piano_roll_page(_: Translator) -> bytes:
    """Three voices, and the attention of a note in the third voice."""
    view = piano_roll_of_canon()

    def look(page: Any) -> None:
        page.wait_for_selector("#roll .notes")
        page.select_option("#head", "0")
        page.evaluate(f"roll.choose({imitating(view)}, true)")
        page.evaluate("roll.seek(roll.music.starts[roll.selected] + .05)")
        page.wait_for_timeout(200)

    return photograph(view, (1180, 680), look)


def imitating(view: PianoRoll) -> int:
    """The note with which the lowest voice starts the third bar of the round."""
    return int(((view.score.tracks == 2) & (view.score.bars[4] <= view.score.starts)).argmax())


def training_page(translator: Translator) -> bytes:
    """The training curves, next to the weights at one step."""
    translator.model  # noqa: B018

    def look(page: Any) -> None:
        page.wait_for_selector("[data-ready]")
        page.click(".row:has-text('embedding.weight')")

    return photograph(model_viz.training(translator.run, names=["noun phrases"]), (1400, 760), look, dark=True)


def graph(_: Translator) -> str:
    """The forward and backward graph of two layers and their loss."""
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    loss = nn.functional.mse_loss(model(mg.randn(2, 3)), mg.randn(2, 2))
    return viz.graph(loss).svg()


def graph_page(translator: Translator) -> bytes:
    """The page of the translator's whole graph, opened around one op, which is selected."""

    def look(page: Any) -> None:
        page.wait_for_selector("[data-state=done]")
        page.fill("#search", "scaled_dot_product_attention encoder.0")
        page.press("#search", "Enter")
        page.wait_for_selector("#panel h2")

    return photograph(viz.graph(translator.model, *translator.example), (1280, 800), look)


def playback(_: Translator) -> bytes:
    """A playback at the tanh in the backward pass of two layers."""
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x, y = mg.randn(2, 3), mg.randn(2, 2)

    def loss(x: mg.Tensor, y: mg.Tensor) -> mg.Tensor:
        return nn.functional.mse_loss(model(x), y)

    def step(page: Any) -> None:
        page.wait_for_selector("[data-ready]")
        for _ in range(5):
            page.keyboard.press("ArrowRight")

    return photograph(viz.playback(loss, x, y), (1000, 900), step)


def lecture(_: Translator) -> bytes:
    """Scores of self-attention, with the pointer on a cell."""
    words = ("I", "like", "cats")
    q = Matrix("Q", mg.tensor([[1.3, 0.8], [0.7, 3.5], [1.9, 0.1]]), words, (), 1)
    k = Matrix("Kᵀ", mg.tensor([[0.6, 0.8, 2.5], [2.4, 1.7, 0.3]]), (), words, 1)

    def point(page: Any) -> None:
        page.hover('[data-key="Q Kᵀ"] [data-cell="1 0"]')

    return photograph(show(times(q, k, "Q Kᵀ")).page(), (760, 260), point)


PICTURES: dict[str, Callable[[Translator], str | bytes]] = {
    "positional_encoding.svg": positional_encoding,
    "attention.svg": attention,
    "attention_model.svg": attention_model,
    "attention_page.png": attention_page,
    "linked.png": linked,
    "training_page.png": training_page,
    "embedding.svg": embedding,
    "logit_lens.svg": logit_lens,
    "logit_lens_page.png": logit_lens_page,
    "piano_roll_page.png": piano_roll_page,
    "graph.svg": graph,
    "graph_page.png": graph_page,
    "playback.png": playback,
    "lecture.png": lecture,
}


# The command ----------------------------------------------------------------------------------------------


def check(folder: Path) -> list[str]:
    """The problems of a gallery: images that are missing, unexpected, oversized, or invalid."""
    there = {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    wrong = [f"{name} is missing" for name in PICTURES if name not in there]
    wrong += [f"{name} is not made by this program" for name in there if name not in PICTURES]
    for name, content in there.items():
        if len(content) > (most := MOST.get(Path(name).suffix, 0)):
            wrong.append(f"{name} has {len(content):,} bytes, more than {most:,}")
        if name.endswith(".svg") and ElementTree.fromstring(content).tag != "{http://www.w3.org/2000/svg}svg":
            wrong.append(f"{name} is not an SVG")
        if name.endswith(".png") and not content.startswith(b"\x89PNG"):
            wrong.append(f"{name} is not a PNG")
    if (total := sum(map(len, there.values()))) > MOST_IN_ALL:
        wrong.append(f"all pictures together have {total:,} bytes, more than {MOST_IN_ALL:,}")
    return wrong


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description="Make the pictures of docs/gallery.")
    p.add_argument("names", nargs="*", metavar="NAME", help=f"pictures (default: all of {', '.join(PICTURES)})")
    p.add_argument("--check", action="store_true", help="make none; report missing and too large pictures")
    p.add_argument("--folder", type=Path, default=FOLDER, help="folder for the pictures")
    p.add_argument("--run", type=Path, default=ROOT / "runs" / "gallery", help="folder of the live model")
    return p


def main(argv: list[str] | None = None) -> int:
    """Make pictures and print their paths, or check them; returns the exit status."""
    p = parser()
    arguments = p.parse_args(argv)
    if unknown := [name for name in arguments.names if name not in PICTURES]:
        p.error(f"unknown picture {', '.join(unknown)}; choose from {', '.join(PICTURES)}")
    if arguments.check:
        wrong = check(arguments.folder)
        print("\n".join(wrong) or f"{len(PICTURES)} pictures, all valid")
        return bool(wrong)
    translator, folder = Translator(arguments.run.resolve()), arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(ROOT):  # makes source locations relative to the clone
        for name in arguments.names or PICTURES:
            picture = PICTURES[name](translator)
            content = picture.encode() if isinstance(picture, str) else picture
            (folder / name).write_bytes(content)
            print(f"wrote {folder / name}, {len(content):,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
