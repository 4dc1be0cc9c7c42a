"""Builds the whole site into a folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from . import node, packs, pages, scripts, server, translator

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'none'"
)


def build(site: Path = SITE) -> None:
    """Build the site, then replace the old one. Raises SystemExit if a program that it needs is missing, a part fails,
    or the folder holds something else."""
    site = site.resolve()
    is_replaceable = site.is_dir() and (not any(site.iterdir()) or (site / "python" / "manifest.json").exists())
    if site.exists() and not is_replaceable:
        raise SystemExit(f"{site} is there, and is no site: it would be deleted. Give a folder of its own.")
    made = site.with_name(f".{site.name}-in-the-making")
    shutil.rmtree(made, ignore_errors=True)
    steps: dict[str, Callable[[], object]] = {
        "installing what comes from npm": node.install,
        "writing the documents": lambda: pages.build(made),
        "packing Python": lambda: packs.build(made / "python"),
        "putting scripts together": lambda: scripts.build(made),
        "packing the translator": lambda: translator.build(made, POLICY),
        "writing the headers": lambda: server.write_headers(made),
    }
    for what, step in steps.items():
        begun = time.perf_counter()
        print(f"{what} ...", flush=True)
        step()
        print(f"{what}: {time.perf_counter() - begun:.0f} s", flush=True)
    _replace(site, made)
    downloads = sum(file.stat().st_size for file in (site / "python").iterdir()) / 1e6
    print(f"the site is in {site}; Python is a download of {downloads:.1f} MB")


def _replace(site: Path, made: Path) -> None:
    """Put the new site in the old one's place, which is deleted afterwards."""
    old = site.with_name(f".{site.name}-before")
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    made.rename(site)
    shutil.rmtree(old, ignore_errors=True)
