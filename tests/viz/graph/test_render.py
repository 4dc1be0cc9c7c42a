"""Pictures by Graphviz: in a child process, in time, with names as text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import pytest

from minigrad.viz.graph import dot as module
from minigrad.viz.graph import view as view_module
from minigrad.viz.graph.dot import TooSlowError, render, renderer, shortened, source
from minigrad.viz.graph.fold import tree
from minigrad.viz.graph.view import graph as view
from tests.support import graphs


@pytest.fixture(params=["dot", "pygraphviz"])
def drawer(request, monkeypatch):
    """Each that draws, alone."""
    if request.param == "dot" and shutil.which("dot") is None:
        pytest.skip("the program dot is not here (on Debian: apt install graphviz)")
    if request.param == "pygraphviz":
        if find_spec("pygraphviz") is None:
            pytest.skip("pygraphviz is not here")
        monkeypatch.setenv("PATH", "")
    assert renderer() == request.param
    return request.param


@pytest.mark.parametrize(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("graph", [graphs.small(), graphs.evil()], ids=["small", "evil"])
def test_formats(drawer, graph, format, start) -> None:
    assert render(source(graph, tree(graph)), format, 60).startswith(start)


def test_names_are_text_in_svg(drawer) -> None:
    graph = graphs.evil()
    made = tree(graph)
    root = ElementTree.fromstring(render(source(graph, made), "svg", 60))
    assert not [e for e in root.iter() if e.tag.split("}")[-1] in ("script", "img", "image", "b")]
    said = " ".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith("text")).replace("\xa0", " ")
    assert shortened(graphs.EVIL) in said and shortened(graphs.EMOJI) in said and shortened(graphs.LONG) in said
    ids = {e.get("id") for e in root.iter()}
    assert {f"{kind[0]}{number}" for kind, number in made.boxes(made.opened)} <= ids


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
@pytest.mark.parametrize(("format", "given"), [("svg", "graph [pad=1]"), ("png", "graph [dpi=144, pad=1]")])
def test_the_program_is_asked_where_it_is(format, given, tmp_path, monkeypatch) -> None:
    script = "import sys; print(*sys.argv[1:], sys.stdin.read(), end='')"
    (tmp_path / "dot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{script}" "$@"\n')
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert renderer() == "dot"
    assert render("digraph { graph [pad=1] }", format, 60) == f"-T{format} digraph {{ {given} }}".encode()


def test_the_program_comes_first_then_the_package(monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert renderer() == "dot"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    assert renderer() == "pygraphviz"
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert renderer() is None
    with pytest.raises(RuntimeError, match="pip install pygraphviz"):
        render("digraph {}", "png")


def test_errors_and_time(drawer) -> None:
    with pytest.raises(RuntimeError, match="could not draw"):
        render("digraph {", "svg", 60)
    with pytest.raises(TooSlowError, match="longer than"):
        render("digraph { a -> b }", "svg", 1e-4)


def test_what_is_too_slow_is_folded_further(monkeypatch) -> None:
    tried = []

    def slow(text: str, format: str, seconds: float) -> bytes:
        tried.append(text)
        if len(tried) < 3:
            raise TooSlowError("late")
        return b"<svg/>"

    monkeypatch.setattr(view_module, "render", slow)
    monkeypatch.setattr(view_module, "renderer", lambda: "dot")
    assert view(graphs.transformer(4), depth=9, fold=False).svg() == "<svg/>"
    sizes = [text.count("label=") for text in tried]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == 3


def test_a_crash_of_the_child_is_an_error(monkeypatch) -> None:
    done = subprocess.CompletedProcess([], -11, b"", b"")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: done)
    monkeypatch.setattr(module, "renderer", lambda: "pygraphviz")
    with pytest.raises(RuntimeError, match="-11"):
        render("digraph {}", "svg")
