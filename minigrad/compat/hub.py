"""``torch.hub``: downloads weights, but not code, into a folder."""

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
_folder: str | None = None


def _get_torch_home() -> str:
    """``$TORCH_HOME``, by default ``$XDG_CACHE_HOME/torch`` or ``~/.cache/torch``."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for downloaded weights, set with ``set_dir``; by default "hub" in ``$TORCH_HOME``."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d: str | os.PathLike[str]) -> None:
    """Use the folder ``d`` for downloaded weights."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a URL to the file ``dst``, which is only replaced after a complete download. ``progress`` is ignored.
    Raises OSError if the download fails, and RuntimeError if the file's SHA-256 does not begin with ``hash_prefix``."""
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
    """``load`` a file from a URL, downloading it only once. Raises OSError if the download fails.

    Args:
        model_dir: the folder for the file; by default "checkpoints" in ``get_dir()``.
        map_location, weights_only: see ``load``. Unlike in PyTorch, ``weights_only`` is True by default.
        check_hash: raise RuntimeError unless the file matches the digits in its name ("resnet18-bfd8deac.pth").
        file_name: the local file name; by default the name in the URL. progress: ignored.
    """
    folder = Path(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / (file_name or os.path.basename(urlparse(url).path))
    if not file.exists():
        expected = HASH_REGEX.search(file.name) if check_hash else None
        download_url_to_file(url, str(file), expected[1] if expected else None, progress)
    return serialization.load(file, map_location=map_location, weights_only=weights_only)
