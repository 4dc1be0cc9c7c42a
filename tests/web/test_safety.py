"""No program can access the page, the site's data in the browser, or another host."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import until

Visit = Callable[..., Any]
RUN = """async (code) => {
  try { return (await window.minigradCells.runner.run(code)).error; } catch (error) { return String(error); }
}"""
OUTPUT = "window.minigradCells.cells[0].output.element"


@pytest.fixture
def page(visit: Visit) -> Any:
    """The first page."""
    return visit("index.html")


@pytest.mark.parametrize(
    "reach",
    [
        "js.document",
        "js.window",
        "js.parent.document",
        "js.localStorage.getItem('x')",
        "js.caches.keys",
        "js.indexedDB.open('x')",
        "js.importScripts('/scripts/runner.js')",
        "js.XMLHttpRequest.new().open('GET', '/index.html', False)",
        "js.eval('1')",
    ],
)
def test_javascript_cannot_access_the_page(reach: str, page: Any, visit: Visit) -> None:
    code = f"import js\nfound = {reach}\n" + ("found.send()" if "XMLHttp" in reach else "")
    error = page.evaluate(RUN, code)
    if "caches" in reach and error is None:  # the object exists, but is not accessible
        error = page.evaluate(RUN, "from pyodide.ffi import run_sync\nrun_sync(js.caches.keys())")
    assert error is not None, f"{reach} is reached"
    visit.wrong.clear()  # type: ignore[attr-defined]  # refusals appear in the console


@pytest.mark.parametrize("where", ["https://example.org/", "/index.html", "http://127.0.0.1:9/"])
def test_no_request_is_sent(where: str, page: Any, visit: Visit, address: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on("websocket", lambda request: urls.append(request.url.replace("ws", "http", 1)))
    socket = where.replace("http", "ws", 1)
    for reach in (f"js.fetch({where!r})", f"js.WebSocket.new({socket!r})", f"js.Worker.new({where!r})"):
        page.evaluate(RUN, f"import js\ntry:\n    {reach}\nexcept BaseException as error:\n    print(error)")
    page.wait_for_timeout(500)
    assert not [url for url in urls if url.startswith(("https://example.org", "http://127.0.0.1:9/"))]
    assert f"{address}index.html" not in urls
    visit.wrong.clear()  # type: ignore[attr-defined]


def run_first(page: Any, code: str) -> None:
    """Run a program instead of the first block's."""
    page.evaluate("async () => { await window.minigradCells.cells[0].edit() }")
    page.evaluate("(code) => { window.minigradCells.cells[0].editor.text = code }", code)
    page.locator(".run-bar").nth(0).get_by_text("Run").click()


def test_a_programs_own_messages_change_only_its_output(page: Any, visit: Visit) -> None:
    """A program can send the page messages as worker.js does, but only as text."""
    evil = {"type": "out", "stream": "stdout", "text": "<img src=x onerror=alert(1)>"}
    code = f"import _page, json\n_page.say(json.dumps({evil!r}))\nprint('<script>alert(2)</script><b>bold</b>')"
    run_first(page, code)
    until(page, "window.minigradCells.cells[0].done")
    assert page.evaluate(f"{OUTPUT}.querySelectorAll('img, script, b').length") == 0
    assert "<b>bold</b>" in page.locator(".run-output").nth(0).inner_text()


def test_html_of_a_program_has_its_own_origin(page: Any, visit: Visit) -> None:
    html = (
        "<script>try { parent.document.title = 'reached' } catch { document.title = 'kept out' }</script><h1>mine</h1>"
    )
    code = f"class Evil:\n    def _repr_html_(self):\n        return {html!r}\nEvil()"
    run_first(page, code)
    until(page, f"{OUTPUT}.querySelector('iframe')")
    assert page.evaluate(f"{OUTPUT}.querySelector('iframe').getAttribute('sandbox')") == "allow-scripts allow-downloads"
    page.wait_for_timeout(500)
    assert page.title() != "reached"
    visit.wrong.clear()  # type: ignore[attr-defined]


def test_a_program_that_asks_for_too_much_gets_an_error(page: Any) -> None:
    rows = [
        ("import numpy\nnumpy.ones(2**29)", ("MemoryError", "_ArrayMemoryError", "ValueError")),
        ("def f(): return f()\nf()", ("RecursionError",)),
        ("import os\nos.fork()", ("OSError", "AttributeError", "BlockingIOError")),
        ("import threading\nthreading.Thread(target=print).start()", ("RuntimeError",)),
        ("input()", ("EOFError", "OSError")),
    ]
    for code, kinds in rows:
        assert page.evaluate(RUN, code)["kind"] in kinds, code
        assert page.evaluate(RUN, "assert 1 + 1 == 2") is None


STUBBORN = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"


@pytest.mark.parametrize(("code", "survives"), [(STUBBORN, True), ("sum(range(10**12))", False)])
def test_a_program_that_does_not_stop_is_ended(code: str, survives: bool, page: Any) -> None:
    """A second interrupt ends a program that catches the first; a call that ignores both costs the interpreter."""
    page.evaluate(RUN, "here = 1")
    page.evaluate("(code) => { window.going = window.minigradCells.runner.run(code).catch(String) }", code)
    page.wait_for_timeout(500)
    page.evaluate("window.minigradCells.runner.stop()")
    assert "stopped" in str(page.evaluate("window.going"))
    error = page.evaluate(RUN, "assert here == 1")
    assert (error is None) == survives
