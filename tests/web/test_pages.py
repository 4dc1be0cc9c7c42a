"""The site's pages: links work, every public name is there, and no page requests a file from another host.

Tests of the whole site need npm and MkDocs (docs/web/requirements.txt), and are skipped without them.
"""

import importlib.util
import inspect
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import unquote

import pytest

import minigrad
from docs.web import build, docstrings, documents, hooks, pages, public, reference, sources
from docs.web.documents import ROOT, relaid, relink
from tests.support.documents import blocks

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'none'"
)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](viz.md#graph)", "[a](viz.md#graph)"),
        ("[a](../README.md)", "[a](../index.md)"),
        ("[a](../minigrad/ops/op.py#L131)", "[a](../source/minigrad/ops/op.py.md#L131)"),
        ("[a](../tests/compat/programs)", "[a](../source/tests/compat/programs/index.md)"),
        ("![a](gallery/graph.svg)", "![a](gallery/graph.svg)"),
        ("[a](nowhere.md)", "[a](nowhere.md)"),  # MkDocs reports it
        ("[a](https://arxiv.org/abs/1706.03762)", "[a](https://arxiv.org/abs/1706.03762)"),
        ("```python\n[a](../minigrad/tensor.py)\n```", "```python\n[a](../minigrad/tensor.py)\n```"),
    ],
)
def test_links_lead_to_pages_of_the_site(link: str, expected: str) -> None:
    linked: set[str] = set()
    assert relink(link, "docs/viz.md", "docs/viz.md", linked) == expected
    assert bool(linked) == ("source/" in expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("text\n- a\n  b\n- c", "text\n\n- a\n    b\n- c"),
        (
            "1. a\n\n   ```python\n   x\n       y\n   ```\n2. b",
            "1. a\n\n    ```python\n    x\n        y\n    ```\n2. b",
        ),
        ("- a\n  - b\n\nafter", "- a\n    - b\n\nafter"),
        ("    code\n    - no item", "    code\n    - no item"),
        (r"| `a \| b` | c \| d |", r"| `a | b` | c \| d |"),
        ("<!-- note -->\n| a |", "\n| a |"),
        ("```text\n- a\n  b\n```", "```text\n- a\n  b\n```"),
    ],
)
def test_lists_and_tables_are_laid_out_for_python_markdown(source: str, expected: str) -> None:
    assert relaid(source) == expected


def test_every_document_is_in_the_menu() -> None:
    menu = (ROOT / "docs" / "web" / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [documents.page_of(path) for path in documents.documents()]
    assert [page for page in pages if f": {page}\n" not in menu] == []


def test_the_engine_is_shown_in_full() -> None:
    text = pages.how_it_works()
    for path in pages.ENGINE:
        assert sources.placeholder(path, f"{Path(path).stem}-") in text
    anchors: set[str] = set()
    page = SimpleNamespace(present_anchor_ids=anchors)
    html = hooks.on_page_content(sources.placeholder("minigrad/ops/op.py", "op-"), page)
    lines = (ROOT / "minigrad" / "ops" / "op.py").read_text(encoding="utf-8").splitlines()
    assert html.count('<span class="line"') == len(lines)
    assert f"op-L{len(lines)}" in page.present_anchor_ids
    text = re.sub(r"<[^>]+>", "", html).replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    assert text.replace("&#39;", "'").replace("&amp;", "&").splitlines() == lines


def headings(text: str) -> list[str]:
    """The anchors on a reference page."""
    return re.findall(r"^#{3,4} `[^`]+` \{ #(\S+) \}$", text, re.MULTILINE)


@pytest.mark.parametrize("module", ["minigrad", "minigrad.nn.functional", "minigrad.optim", "minigrad.distributions"])
def test_every_public_name_is_on_its_page(module: str) -> None:
    loaded = importlib.import_module(module)
    listed = getattr(loaded, "__all__", None) or [n for n in vars(loaded) if not n.startswith("_")]
    expected = {f"{module}.{name}" for name in listed if not isinstance(getattr(loaded, name), ModuleType)}
    anchors = headings(reference.write(module))
    assert expected <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_every_method_of_tensor_is_on_its_page() -> None:
    members = inspect.getmembers(minigrad.Tensor, callable)
    methods = {f"{reference.TENSOR}.{name}" for name, _ in members if not name.startswith("_")}
    assert methods <= set(headings(reference.write(reference.TENSOR)))


def test_every_module_with_a_list_of_names_has_a_place() -> None:
    """New modules must get a page: each name in an ``__all__`` is on a page."""
    paths = [f"minigrad.{path.parent.name}" for path in (ROOT / "minigrad").glob("*/__init__.py")]
    paths += [f"minigrad.{path.stem}" for path in (ROOT / "minigrad").glob("*.py") if not path.stem.startswith("_")]
    anchors = {entry.anchor for module in reference.modules() for entry in reference.entries(module)}
    listed = {f"{m}.{n}" for m in paths if getattr(importlib.import_module(m), "__all__", ()) for n in public.names(m)}
    assert [
        name for name in listed - anchors if not name.startswith(("minigrad.functions.names.", "minigrad.version."))
    ] == []


def test_an_op_is_shown_with_its_rule_and_its_test() -> None:
    text = reference.write("minigrad")
    entry = text[text.index("{ #minigrad.softmax }") : text.index("{ #minigrad.sqrt }")]
    assert "minigrad/ops/softmax.py#L" in entry and "dx = " in entry and "cases.py#L" in entry
    assert "Source: [minigrad/functions/pointwise.py:" in entry
    assert "```pycon\n>>> " in entry


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("x_i * y < [2]", r"x\_i \* y &lt; \[2\]"),
        ("``a_b`` of `c*d`", "``a_b`` of `c*d`"),
        (
            "Sum.\n\nArgs:\n    x: one\n        more.\n    y, z: two.",
            "Sum.\n\n**Args**\n\n- `x`: one more.\n- `y, z`: two.",
        ),
        ("Raises:\n    ValueError: no.", "**Raises**\n\n- `ValueError`: no."),
        ("Returns:\n    A\n    tensor.", "**Returns**\n\nA tensor."),
        (">>> 1\n1", "```pycon\n>>> 1\n1\n```"),
        ("So:\n\n    a = b\n      c", "So:\n\n```text\na = b\n  c\n```"),
        ("- one\n  more\n- two", "- one more\n- two"),
        ("-x, elementwise.", r"\-x, elementwise."),
    ],
)
def test_docstrings_become_markdown(doc: str, expected: str) -> None:
    assert docstrings.markdown(doc) == expected


def test_templates_have_the_policy_and_name_no_host() -> None:
    folder = ROOT / "docs" / "web" / "overrides"
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}"' in (folder / "main.html").read_text("utf-8")
    assert build.POLICY == POLICY  # the translator's page has the same
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]
    assert not [text for text in texts if re.search(r"(?:https?:)?//\w", re.sub(r"/\*.*?\*/", "", text))]


class Page(HTMLParser):
    """The files that a page loads, its links, anchors and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag's addresses."""
        of = dict(attrs)
        self.places.update(filter(None, (of.get("id"), of.get("name"))))
        if tag in ("script", "img", "iframe", "source", "audio", "video") and of.get("src"):
            self.loads.append(str(of["src"]))
        elif tag == "link" and of.get("href"):
            self.loads.append(str(of["href"]))
        elif tag == "a" and of.get("href"):
            self.links.append(str(of["href"]))


@pytest.fixture(scope="module")
def read(site: Path) -> dict[str, Page]:
    """The parsed pages of the site."""
    files = sorted(site.rglob("*.html"))
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in files}


def test_no_page_loads_from_another_host(read: dict[str, Page]) -> None:
    wrong = [(name, url) for name, page in read.items() for url in page.loads if re.match(r"(\w+:)?//", url)]
    assert wrong == []


def test_every_link_works(site: Path, read: dict[str, Page]) -> None:
    broken = []
    for name, page in read.items():
        for url in page.links + page.loads:
            path, _, place = unquote(url).partition("#")
            if re.match(r"\w+:|//|/", url) or name == "404.html":  # 404.html is shown for any path
                continue
            target = os.path.normpath(Path(name).parent / path) if path else name
            target = f"{target}/index.html".removeprefix("./") if (site / target).is_dir() else target
            if not (site / target).exists() or (place and target in read and place not in read[target].places):
                broken.append((name, url))
    assert broken == []


def test_every_python_block_can_get_a_button(site: Path) -> None:
    for path in documents.documents():
        count = sum(block.language == "python" for block in blocks((ROOT / path).read_text(encoding="utf-8")))
        html = (site / documents.page_of(path)).with_suffix(".html").read_text(encoding="utf-8")
        assert html.count('<div class="language-python highlight">') == count, path


def test_every_page_has_the_policy_and_the_script_of_cells(site: Path) -> None:
    for path in site.rglob("*.html"):
        name = path.relative_to(site)
        if name.parts[0] != "translator_page":  # a page with its own policy
            text = path.read_text(encoding="utf-8")
            assert f'content="{POLICY}"' in text, name
            assert re.search(r'<script type="module" src="[./]*/?scripts/cells.js">', text), name


def test_names_and_documents_can_be_searched_for(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    locations = {entry["location"] for entry in index["docs"]}
    assert {"reference/minigrad.html#minigrad.relu", "docs/viz.html#graph"} <= locations
    assert not [place for place in locations if place.startswith("source/")]
