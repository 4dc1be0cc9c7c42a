"""The translator on the site: the toy translator's weights in half precision, and the page of `serve`.

The page is the package's own (minigrad_models/translation/serve/page); translator.js answers its requests in the
browser.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import minigrad
from minigrad.viz.page import asset
from minigrad_models.training.checkpoints import write_checkpoint

from . import scripts

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "models" / "minigrad_models" / "translation" / "serve" / "page"
RUN = ROOT / "runs" / "toy"
MODEL = "model.safetensors"
MORE = '  <link rel="stylesheet" href="more.css">\n</head>'


def trained() -> Path:
    """The toy translator's file. If it is missing, the translator is first trained in a minute or two. Raises
    SystemExit if training fails."""
    if not (RUN / MODEL).exists():
        print("training the toy translator for the page ...", flush=True)
        if subprocess.run([sys.executable, "-m", "minigrad", "train", "--run", str(RUN)], check=False).returncode:
            raise SystemExit("The toy translator could not be trained: see above.")
    return RUN / MODEL


def halved(model: Path, to: Path) -> None:
    """Copy a model's file with its weights in half precision: half the size, with about 3 correct digits."""
    checkpoint = minigrad.load(model)
    weights = {name: weight.half() for name, weight in checkpoint["model"].items()}
    write_checkpoint(to, {**checkpoint, "model": weights})


def build(site: Path, policy: str) -> None:
    """Write the site's translator_page/ under the site's policy: the page, its scripts and styles, and the model."""
    folder = site / "translator_page"
    folder.mkdir(parents=True, exist_ok=True)
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    text = re.sub(r'(href|src)="/', r'\1="', text)  # the site may be in a subfolder of its host
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    for place, more in (('<meta charset="utf-8">', f'<meta charset="utf-8">\n  {meta}'), ("</head>", MORE)):
        if place not in text:
            raise SystemExit(f"{PAGE / 'page.html'} has no {place}: the site's page would lack its policy or style.")
        text = text.replace(place, more, 1)
    (folder / "index.html").write_text(text, encoding="utf-8")
    for name in ("base.css", "dark.css"):
        (folder / name).write_text(asset(name), encoding="utf-8")
    for name in ("page.css", "icon.svg"):
        (folder / name).write_bytes((PAGE / name).read_bytes())
    (folder / "more.css").write_bytes((HERE / "src" / "translator_page.css").read_bytes())
    scripts.bundle(["translator_page.js"], f"--outfile={folder / 'page.js'}")
    halved(trained(), folder / MODEL)
