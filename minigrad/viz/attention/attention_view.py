"""What ``viz.attention`` returns: it shows itself in a notebook, and saves itself as a page or picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ...nn.module import Module
from ...tensor import Tensor
from ..numbers import Array, coded
from ..page import Page
from ..palette import DARK, LIGHT
from ..vector import clean
from ..view import Picture
from .attention_data import Attention, Candidate, Kind, Tokens, grouped, sides
from .attention_record import from_call, from_weights
from .pictures import chosen, head_picture, matrix_picture, model_picture

Look = Literal["head", "matrix", "model"]
Heads = int | Sequence[int] | None
EXACT = 600_000  # numbers up to which all keep float32's digits; more are halved to float16's three
PARTS = ("weights", "query", "key", "bias")  # of a layer: its arrays
SCRIPTS = tuple(f"attention{part}.js" for part in ("", "_heads", "_matrix", "_model", "_neuron", "_start"))


def attention(
    subject: Any, *inputs: Any, tokens: Tokens = None, title: str = "Attention", **named: Any
) -> AttentionView:
    """What each token looks at: every layer and head of encoder, decoder and cross-attention; of a batch, those of the
    first sentence.

        viz.attention(model, source, target, tokens=(source_tokens, target_tokens)).save("attention.html")
        viz.attention({"encoder": weights}, ["I", "like", "cats"]).save("heads.svg", layer=0, head=2)

    A decoder reads a token and writes the next one. Its rows bear the token that is read, or, with tokens for
    "written", the one that is written.

    Args:
        subject: a module, or a function of tensors, which is called once with ``inputs`` and ``named``, in
            evaluation mode; every attention that runs is recorded. Or weights: an array or Tensor
            (L, H, T, S), (H, T, S) or (T, S), a list with one (H, T, S) or (B, H, T, S) for each layer, or
            {"encoder": …, "decoder": …, "cross": …} of these. Each query and key is a token; rows sum to 1.
        inputs: for a module, its inputs; for weights, the tokens of the source, and those of the target.
        tokens: a list of texts for both sides, a pair for source and target, or {"source": …, "target": …,
            "written": …}, of which some may be left out. For a module a function from an id to a text or a
            tokenizer will do (not for what is written). By default the module's ``tokenizer``, else the ids, or
            numbers.
        title: of the page.
        named: the module's inputs by name.

    Raises TypeError: neither a module nor weights; tokens that are not texts; ValueError: no attention, tokens that do
    not fit, weights that are not rows of probabilities.
    """
    if isinstance(subject, Module) or (callable(subject) and not isinstance(subject, Tensor)):
        both = sides(getattr(subject, "tokenizer", None) if tokens is None else tokens)
        return AttentionView(grouped(both, *from_call(subject, inputs, named)), title)
    texts = all(isinstance(a, list | tuple) and all(isinstance(text, str) for text in a) for a in inputs)
    if named or not texts or len(inputs) > 2 or (inputs and tokens is not None):
        wrong = f"an argument {next(iter(named))!r}" if named else f"{len(inputs)} more"
        raise TypeError(
            f"weights are followed by the tokens of the source, and those of the target (or by tokens=…): "
            f"lists of texts; got {wrong}. To record a model's attention, give the module itself"
        )
    both = sides(tokens if not inputs else inputs[0] if len(inputs) == 1 else inputs)
    return AttentionView(grouped(both, from_weights(subject, both)), title)


class AttentionView(Picture):
    """Attention of some tokens: all kinds, layers and heads, counted from 0; -1 is the last. ``attentions`` has one of
    each kind, ``beam`` the texts of a search, best first, to be chosen from in the page.
    """

    def __init__(
        self, attentions: Sequence[Attention], title: str = "Attention", beam: Sequence[Candidate] = ()
    ) -> None:
        if not attentions:
            raise ValueError("the beam is empty: there is no attention to show")
        self.attentions, self.title = tuple(attentions), clean(title)
        self.beam = tuple(one._replace(text=clean(one.text)) for one in beam)

    def __repr__(self) -> str:
        sizes = (
            f"{a.title}: {len(a.layers)} layers, {len(a.layers[0].weights)} heads, "
            f"{len(a.queries)} × {len(a.keys)} tokens"
            for a in self.attentions
        )
        return f"<attention: {'; '.join(sizes)}>"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that there are: "encoder", "decoder", "cross"."""
        return tuple(a.kind for a in self.attentions)

    def weights(self, kind: Kind | None = None) -> list[Array]:
        """The weights (H, T, S) of each layer; if no kind is named, of that which ``svg`` draws."""
        return [layer.weights for layer in self._of(kind).layers]

    def page(self) -> Page:
        """The interactive page, with all views."""
        return _page(self.beam or (Candidate("", 0.0, self.attentions),), self.title)

    def svg(
        self,
        view: Look = "head",
        *,
        kind: Kind | None = None,
        layer: int | None = -1,
        head: Heads = None,
        dark: bool = False,
    ) -> str:
        """A picture for a paper or a slide, as SVG with text that stays text; sizes are in points.

        The larger a weight the darker it is, so in print without colours, too; heads that share a picture
        differ by colours alone: there take one, or "matrix" or "model".

        Args:
            view: "head" (lines between tokens), "matrix" (cells), or "model" (all layers and heads).
            kind: "encoder", "decoder" or "cross"; None: "cross" of what translates, else the first.
            layer: which; None takes the mean over layers.
            head: which, or several; None takes all. Lines have a colour for each head, cells their mean.
            dark: light on dark, for slides.

        Raises ValueError: there is no such view, kind, layer or head.
        """
        attention, palette = self._of(kind), DARK if dark else LIGHT
        if view == "model":
            return model_picture(attention, palette).svg()
        if view not in ("head", "matrix"):
            raise ValueError(f"a view is 'head', 'matrix' or 'model' ('neuron': in the page), not {view!r}")
        draw = head_picture if view == "head" else matrix_picture
        return draw(attention, chosen(attention, layer, head), palette).svg()

    def _of(self, kind: Kind | None) -> Attention:
        for usual in ("cross", *self.kinds) if kind is None else (kind,):
            for attention in self.attentions:
                if attention.kind == usual:
                    return attention
        raise ValueError(f"there is no {kind!r} attention here, but {', '.join(map(repr, self.kinds))}")


def _page(texts: Sequence[Candidate], title: str) -> Page:
    """All kinds, layers and heads of one text, or of several to choose from."""
    different = list({id(one): one for text in texts for one in text.attentions}.values())  # some share some
    arrays = (getattr(layer, name) for one in different for layer in one.layers for name in PARTS)
    half = sum(array.size for array in arrays if array is not None) > EXACT
    places = {id(one): place for place, one in enumerate(different)}
    data = {
        "title": title,
        "digits": 3 if half else 4,
        "kinds": [_kind(one, half) for one in different],
        "texts": [
            {"text": one.text, "score": one.score, "kinds": [places[id(a)] for a in one.attentions]} for one in texts
        ],
    }
    return Page.of("attention", title, data, SCRIPTS)


def _kind(attention: Attention, half: bool) -> dict[str, Any]:
    def packed(array: Array | None) -> dict[str, Any] | None:
        bytes_of = None if array is None else coded(array, "<f2" if half else "<f4")
        return None if array is None else {"shape": list(array.shape), "half": half, "bytes": bytes_of}

    blocked = [None if layer.blocked is None else coded(layer.blocked, "u1") for layer in attention.layers]
    masks = list(dict.fromkeys(mask for mask in blocked if mask is not None))  # many layers share one
    layers = [
        {
            "path": layer.path,
            "heads": len(layer.weights),
            "mask": None if mask is None else masks.index(mask),
            "scale": layer.scale,
            **{name: packed(getattr(layer, name)) for name in PARTS},
        }
        for layer, mask in zip(attention.layers, blocked, strict=True)
    ]
    return {
        "kind": attention.kind,
        "title": attention.title,
        "short": f"{attention.kind.title()} {attention.note}".strip(),
        "meaning": attention.meaning,
        "reads": attention.kind != "encoder" and not attention.written,
        "queries": list(attention.rows),
        "keys": list(attention.keys),
        "masks": masks,
        "layers": layers,
    }
