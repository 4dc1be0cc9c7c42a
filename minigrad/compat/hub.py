"""``torch.hub``: where downloaded weights are kept, and downloading them. Code is not downloaded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from .. import serialization
from ..serialization.source import replaced

try:
    from tqdm import tqdm  # torchvision imports it from here
except ImportError:
    tqdm = None

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-bfd8deac.pth
_chosen: str | None = None


def _get_torch_home() -> str:
    """``$TORCH_HOME``, by default ``$XDG_CACHE_HOME/torch``, by default ``~/.cache/torch``."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded weights: that of ``set_dir``, by default "hub" below ``$TORCH_HOME``."""
    return os.path.join(_get_torch_home(), "hub") if _chosen is None else _chosen


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep downloaded weights in the folder ``d``."""
    global _chosen
    _chosen = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Save what a URL holds in the file ``dst``, which is only replaced when all of it has come. ``progress`` is not
    used. Raises OSError: it cannot be had; RuntimeError: its SHA-256 does not begin with ``hash_prefix``."""
    with replaced(os.path.expanduser(dst)) as path, open(path, "w+b") as file:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
            shutil.copyfileobj(source, file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not digest.startswith(hash_prefix or ""):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """What ``load`` reads from a URL, downloaded once. Raises OSError for what cannot be had.

    Args:
        model_dir: the folder to keep it in; by default "checkpoints" below ``get_dir()``.
        map_location, weights_only: see ``load``. In PyTorch, ``weights_only`` is False here by default.
        check_hash: compare the file with the digits in its name: "resnet18-bfd8deac.pth"; RuntimeError for another.
        file_name: its name; by default the URL's. progress: not used.
    """
    folder = Path(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / (file_name or os.path.basename(urlparse(url).path))
    if not file.exists():
        expected = HASH_REGEX.search(file.name) if check_hash else None
        download_url_to_file(url, str(file), expected[1] if expected else None, progress)
    return serialization.load(file, map_location=map_location, weights_only=weights_only)
