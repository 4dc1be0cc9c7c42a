"""The cache of machine code on disk, in the user's cache folder or in ``$MINIGRAD_CACHE``. It has one file for each
kernel file, compiled once per machine. A file's name contains a hash of everything that its machine code depends on:
the sources, the versions of Numba and llvmlite, and the processor with its features. If several processes need a file,
one compiles it, and the others wait for its lock. A file with a wrong content hash is recompiled. If the folder is not
writable, each process compiles for itself."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import THREAD_POOL, Code

_PACKAGE = Path(__file__).resolve().parents[2]
_KERNELS = _PACKAGE / "backend" / "kernels"
MOST_PROCESSES = 4  # compiling at the same time
KEPT = 8  # files per unit: for several versions, and for machines that share a home folder


def load(units: Iterable[str] | None = None) -> Code:
    """The machine code of units (by default all), from the cache or newly compiled."""
    keys = _keys()
    names = {unit: f"{unit}-{keys[unit]}.bin" for unit in (keys if units is None else units) if unit in keys}
    code: dict[str, Code] = {}
    for folder in _folders():
        code |= _read_all(folder, names)
        if len(code) == len(names):
            break
        if _is_ours(folder):
            with _locked(folder / "lock"):
                code |= _read_all(folder, names)  # another process may have compiled them meanwhile
                new = _compiled([unit for unit in names if unit not in code])
                for unit in new:
                    _write(folder, unit, names[unit], new[unit])
            code |= new
            break
    code |= _compiled([unit for unit in names if unit not in code])
    return {name: function for unit in names for name, function in code[unit].items()}


def _read_all(folder: Path, names: dict[str, str]) -> dict[str, Code]:
    return {unit: code for unit, name in names.items() if (code := _read(folder / name)) is not None}


def _folders() -> Iterator[Path]:
    if path := os.environ.get("MINIGRAD_CACHE"):
        yield Path(path)
        return
    with contextlib.suppress(RuntimeError):  # no home folder
        if sys.platform == "win32":
            yield Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "minigrad"
        elif sys.platform == "darwin":
            yield Path.home() / "Library" / "Caches" / "minigrad"
        else:
            yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minigrad"
    if hasattr(os, "getuid"):
        yield Path(tempfile.gettempdir()) / f"minigrad-{os.getuid()}"


def _is_ours(folder: Path) -> bool:
    """Whether a folder exists or can be created, and no other user may write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = folder.stat()
    except OSError:
        return False
    return os.access(folder, os.W_OK) and _is_safe(about)


def _is_safe(about: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and no other user may write to it."""
    return not hasattr(os, "getuid") or (about.st_uid in (os.getuid(), 0) and not about.st_mode & 0o022)


def _keys() -> dict[str, str]:
    """For each unit (the pool and the kernel files), a hash of everything that its machine code depends on."""
    from importlib.metadata import version  # imported here because it is slow, and not needed without Numba

    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    about = (version("numba"), version("llvmlite"), binding.get_host_cpu_name(), features, object.__basicsize__)
    shared = hashlib.sha256(repr((*about, platform.machine(), sys.platform)).encode())
    for path in sorted([*Path(__file__).parent.glob("*.py"), *_KERNELS.glob("_*_numba.py")]):
        shared.update(path.read_bytes())
    keys = {}
    for unit, path in _sources().items():
        keys[unit] = shared.copy()
        keys[unit].update(path.read_bytes())
    return {unit: digest.hexdigest()[:24] for unit, digest in keys.items()}


def _sources() -> dict[str, Path]:
    files = sorted([*_KERNELS.glob("[!_]*_numba.py"), *_KERNELS.parent.glob("*_numba.py")])
    return {THREAD_POOL: Path(__file__).with_name("thread_pool.py"), **{path.stem: path for path in files}}


def _read(path: Path) -> Code | None:
    """The code in a file, or None if it is missing, damaged, or owned by another user."""
    try:
        with path.open("rb") as file:
            if not _is_safe(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    seal, body = data[:32], data[32:]
    return marshal.loads(body) if hashlib.sha256(body).digest() == seal else None


def _write(folder: Path, unit: str, name: str, code: Code) -> None:
    """Write a unit's file atomically, and remove the unit's oldest files, if possible."""
    body = marshal.dumps(code)
    with contextlib.suppress(OSError):
        handle, new = tempfile.mkstemp(dir=folder, prefix=f"{unit}-", suffix=".bin")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(new, folder / name)
        for old in sorted(folder.glob(f"{unit}-*.bin"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            old.unlink()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock across processes, at most until this process ends. Does nothing if the system lacks file locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            file = stack.enter_context(path.open("a+b"))
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # for ten seconds, after which both compile
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compiled(units: list[str]) -> dict[str, Code]:
    """Compile units in parallel processes. Raises RuntimeError with the last output line of a process that failed."""
    if not units:
        return {}
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    sources, count = _sources(), min(cpus, MOST_PROCESSES, len(units))
    longest_first = sorted(units, key=lambda unit: sources[unit].stat().st_size, reverse=True)
    if sys.stderr is not None:
        what = "its kernels" if THREAD_POOL in units else ", ".join(unit.removesuffix("_numba") for unit in units)
        print(f"minigrad: compiling {what} for this machine, once ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="minigrad-") as folder:
        processes = [_start(folder, longest_first[i::count]) for i in range(count)]
        errors = [process.communicate()[1] for process in processes]
        for process, error in zip(processes, errors, strict=True):
            if process.returncode:
                lines = error.decode(errors="replace").strip().splitlines() or ["no message"]
                raise RuntimeError(f"compilation failed: {lines[-1]}")
        code = {unit: marshal.loads((Path(folder) / unit).read_bytes()) for unit in units}
    return code


def _start(folder: str, units: list[str]) -> subprocess.Popen[bytes]:
    """Start a process that compiles units, so that Numba is not loaded here."""
    command = [sys.executable, "-P", "-m", f"{__package__}.build", folder, *units]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    path = os.pathsep.join([str(_PACKAGE.parent), *filter(None, sys.path)])
    environment |= {"PYTHONPATH": path, "MINIGRAD_FAST": "0"}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE)
