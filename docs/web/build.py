"""Builds the whole site into a folder."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from . import node, packs, pages, scripts, server, translator

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
PAGES = ("*.md", "docs/*", "docs/gallery/*", "docs/web/content/*", "docs/web/overrides/**/*")
DOCUMENTS = (*PAGES, "examples/**/*", "tests/**/*")  # pages link to these
MODEL = "runs/toy/model.safetensors"
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'none'"
)


def build(site: Path = SITE) -> None:
    """Build the parts of the site that have changed, then replace the old site. Raises SystemExit if a required program
    is missing, a part fails, or the folder contains something other than a site."""
    site = site.resolve()
    is_replaceable = site.is_dir() and (not any(site.iterdir()) or (site / "python" / "manifest.json").exists())
    if site.exists() and not is_replaceable:
        raise SystemExit(f"{site} exists and is not a site, but building would delete it. Choose another folder.")
    new_site = site.with_name(f".{site.name}-in-the-making")
    shutil.rmtree(new_site, ignore_errors=True)
    parts, code = site.with_name(f".{site.name}-parts"), ("minigrad/**/*", "models/**/*", "docs/web/*")
    steps: dict[str, tuple[Callable[[Path], object], Iterable[str]]] = {  # a part's builder and sources
        "writing the documents": (pages.build, (*code, *DOCUMENTS)),
        "packing Python": (lambda part: packs.build(part / "python"), (*code, "docs/web/python/**/*")),
        "putting scripts together": (scripts.build, ("docs/web/*", "docs/web/src/*", "docs/web/examples/*")),
        "packing the translator": (lambda part: translator.build(part, POLICY), (*code, "docs/web/src/*", MODEL)),
    }
    node.install()
    for what, (step, places) in steps.items():
        start, cached = time.perf_counter(), parts / what / _digest(places)
        if not cached.exists():
            print(f"{what} ...", flush=True)
            shutil.rmtree(cached.parent, ignore_errors=True)
            step(new := cached.with_name("new"))
            new.rename(cached)
        shutil.copytree(cached, new_site, dirs_exist_ok=True)
        print(f"{what}: {time.perf_counter() - start:.0f} s", flush=True)
    server.write_headers(new_site)
    _replace(site, new_site)
    downloads = sum(file.stat().st_size for file in (site / "python").iterdir()) / 1e6
    print(f"the site is in {site}; Python is a download of {downloads:.1f} MB")


def _digest(places: Iterable[str]) -> str:
    """A hash of the files that match patterns in the repository."""
    files = (file for place in places for file in sorted(ROOT.glob(place)))
    own = (file for file in files if "__pycache__" not in file.parts and file.is_file())
    lines = [f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in own]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _replace(site: Path, new_site: Path) -> None:
    """Move the new site to the old one's path, and then delete the old one."""
    old = site.with_name(f".{site.name}-before")
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    new_site.rename(site)
    shutil.rmtree(old, ignore_errors=True)
