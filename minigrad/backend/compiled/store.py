"""The compiled loops on disk: found, or made once for a machine, and loaded.

The files, one for each file of kernels, lie in the user's cache, or in ``$MINIGRAD_CACHE``. A file's name has a hash of
all that its machine code depends on: the sources, Numba's and llvmlite's versions, the processor and what it can do.
Several processes may want them at once: one makes them, the others wait for its lock. A file that is not what it was,
as its own hash says, is made anew. Where nothing can be written, the code is made for this process alone.

``MINIGRAD_FAST=0`` in the environment leaves the compiled loops alone, as if Numba were not installed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..deferred import Deferred

if TYPE_CHECKING:
    import hashlib
    import json
    import pathlib
    import subprocess
    import tempfile
else:  # their import takes as long as a third of minigrad's
    hashlib, json, pathlib, subprocess, tempfile = map(
        Deferred, ("hashlib", "json", "pathlib", "subprocess", "tempfile")
    )

CREW = "crew"  # the unit that is no file of kernels
# What a transformer's training needs is made at once; each of the others when it is first asked for.
_FIRST = "adam clip_grad_norm cross_entropy dropout gelu keep_mask layer_norm linear_cross_entropy many muon products"
_FIRST += " relu relu_dropout rms_norm scaled_dot_product_attention scatter_add_rows softmax"
FIRST = (CREW, *(f"{name}_numba" for name in _FIRST.split()))
MOST_PROCESSES = 4  # that compile side by side
KEPT = 8  # files of a unit: of several versions, of processors that share a home
_C_NAMES = (
    "memset",
    "memcpy",
    "memmove",
    "expf",
    "logf",
    "powf",
    "sqrtf",
    "exp",
    "log",
    "pow",
    "sqrt",
    "log1p",
    "log1pf",
)
# Numba's functions for errors, which loops do not have. While one is missing, memset and memcpy are not found either.
_UNUSED = tuple(f"numba_{name}" for name in ("do_raise", "gil_ensure", "gil_release", "unpickle"))
_UNUSED += ("numba_runtime_build_excinfo_struct", "NRT_Free", "NRT_MemInfo_call_dtor")
_lock = threading.RLock()
_library: Library | None = None
_asked: set[str] = set()  # units that have been loaded, or tried

Code = dict[str, tuple[str, bytes]]  # by a function's name, its symbol and its machine code


class Library:
    """Compiled functions in memory.

    Attributes:
        units: whose functions are there. addresses: of the functions, by name.
    """

    def __init__(self) -> None:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _add_symbols(binding)
        for symbol in _UNUSED:
            if binding.address_of_symbol(symbol) is None:
                binding.add_symbol(symbol, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value)
        self._machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        self._kept: list[Any] = []  # engines, and the code that they read where it lies
        self.units: set[str] = set()
        self.addresses: dict[str, int] = {}
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # threads are in its code until the process has ended

    def add(self, units: Iterable[str], code: Code) -> None:
        """Load units."""
        from llvmlite import binding

        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self._machine)
        for _, machine_code in code.values():
            engine.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        self._kept += engine, code
        self.units.update(units)
        self.addresses |= {name: engine.get_function_address(symbol) for name, (symbol, _) in code.items()}
        with contextlib.suppress(OSError, AttributeError, ValueError):
            _leave_to_disk("llvmlite")

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of crew.py, to be called without the GIL."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.addresses[f"crew.{name}"])


def _add_symbols(binding: Any) -> None:
    """What machine code may call beside itself: compilers make calls of the C library of some loops."""
    known = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    for name in _C_NAMES:
        if binding.address_of_symbol(name) is None and (function := getattr(known, name, None)) is not None:
            binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _leave_to_disk(name: str) -> None:
    """Give back the memory of a shared library's code, which the system reads again if somebody runs it: LLVM's has
    done what it was needed for. On Linux alone."""
    if not sys.platform.startswith("linux"):
        return
    advise, no_need = ctypes.CDLL(None).madvise, 4  # MADV_DONTNEED, for pages that nobody has written to
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        place, rights, *about = line.split()
        if rights == "r-xp" and name in about[-1]:
            start, end = (int(address, 16) for address in place.split("-"))
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), no_need)


def library(unit: str = CREW) -> Library | None:
    """The compiled loops, those of a unit among them; None where Numba is missing, or they cannot be made."""
    if unit not in _asked:
        with _lock:
            if CREW not in _asked:
                _ask(FIRST)
            if unit not in _asked:
                _ask((unit,))
    return _library if _library is not None and unit in _library.units else None


def prepare() -> None:
    """Load the loops in a thread of its own, or have them made, while the program does something else. Who asks for
    them meanwhile waits."""
    if CREW not in _asked and is_wanted():
        threading.Thread(target=library, name="minigrad kernels", daemon=True).start()


def _ask(units: tuple[str, ...]) -> None:
    """Load units, unless the first could not be."""
    global _library
    if CREW in units and is_wanted():
        _library = _loaded(None, units)
    elif _library is not None:
        _loaded(_library, units)
    _asked.update(units)


def is_wanted() -> bool:
    """Whether there is a Numba to compile loops with, and nobody has switched it off."""
    if (
        os.environ.get("MINIGRAD_FAST", "1") in ("0", "off", "no", "false")
        or platform.python_implementation() != "CPython"
    ):
        return False
    from importlib.util import find_spec  # here, as it is slow to import

    return find_spec("numba") is not None and _has_known_layout()


def _has_known_layout() -> bool:
    """Whether an array's fields are where ``layout.py`` says."""
    probe = np.zeros((3, 5), np.float32)[:, ::2]
    fields = (ctypes.c_int64 * 7).from_address(id(probe) + object.__basicsize__)
    at = probe.__array_interface__["data"][0]
    shape, steps = ((ctypes.c_int64 * 2).from_address(fields[i]) for i in (2, 3))
    where = fields[0] == at and fields[1] & 0xFFFF == 2 and tuple(shape) == (3, 3) and tuple(steps) == (20, 8)
    dtype = fields[5] == id(probe.dtype) and (fields[6] & 1) == 0
    return where and dtype and sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8


def _loaded(library: Library | None, units: tuple[str, ...]) -> Library | None:
    """The library, or a new one, with these units; None if it could not be made, or not they."""
    try:
        code = _code(units)
        library = library or Library()
        library.add(units, code)
        return library
    except Exception as error:  # whatever a machine's compiler, disk or loader may do: NumPy's kernels are right, too
        reason = str(error).strip().splitlines() or [type(error).__name__]
        warnings.warn(
            f"minigrad's compiled kernels cannot be used here, and NumPy's are: {reason[-1]} "
            f"(MINIGRAD_FAST=0 in the environment says so without this warning)",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _code(units: Iterable[str] | None = None) -> Code:
    """The machine code of units, all by default, from the cache or new."""
    keys = _keys()
    names = {unit: f"{unit}-{keys[unit]}.bin" for unit in (keys if units is None else units) if unit in keys}
    made: dict[str, Code] = {}
    for folder in _folders():
        code, missing = _read_all(folder, names)
        if missing and _is_ours(folder):
            with _locked(folder / "lock"):
                code, missing = _read_all(folder, names)  # somebody may have made them meanwhile
                made |= _compiled([unit for unit in missing if unit not in made])
                missing = [unit for unit in missing if not _write(folder, unit, names[unit], made[unit])]
                code, _ = _read_all(folder, names)
        if not missing:
            return code
    made |= _compiled([unit for unit in names if unit not in made])
    return {name: function for unit in names for name, function in made[unit].items()}


def _read_all(folder: pathlib.Path, names: dict[str, str]) -> tuple[Code, list[str]]:
    """What is in a folder, and which units are missing there."""
    code: Code = {}
    missing = []
    for unit, name in names.items():
        if (found := _read(folder / name)) is None:
            missing.append(unit)
        else:
            code |= found
    return code, missing


def _folders() -> Iterator[pathlib.Path]:
    """Where the file may lie."""
    if given := os.environ.get("MINIGRAD_CACHE"):
        yield pathlib.Path(given)
        return
    with contextlib.suppress(RuntimeError):  # no home
        if sys.platform == "win32":
            yield pathlib.Path(os.environ.get("LOCALAPPDATA") or pathlib.Path.home() / "AppData" / "Local") / "minigrad"
        elif sys.platform == "darwin":
            yield pathlib.Path.home() / "Library" / "Caches" / "minigrad"
        else:
            yield pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "minigrad"
    if hasattr(os, "getuid"):
        yield pathlib.Path(tempfile.gettempdir()) / f"minigrad-{os.getuid()}"


def _is_ours(folder: pathlib.Path) -> bool:
    """Whether the folder is there, or can be made, and nobody else may write code into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = folder.stat()
    except OSError:
        return False
    return os.access(folder, os.W_OK) and _is_safe(about)


def _is_safe(about: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and no other may write to it."""
    return not hasattr(os, "getuid") or (about.st_uid in (os.getuid(), 0) and not about.st_mode & 0o022)


def _keys() -> dict[str, str]:
    """For each unit, the crew and the files of kernels, a hash of all that its machine code depends on."""
    from importlib.metadata import version  # a start without Numba does without: it takes a while

    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    about = (version("numba"), version("llvmlite"), binding.get_host_cpu_name(), features, object.__basicsize__)
    shared = hashlib.sha256(repr((*about, platform.machine(), sys.platform)).encode())
    for path in sorted([*pathlib.Path(__file__).parent.glob("*.py"), *_kernels().glob("_*_numba.py")]):
        shared.update(path.read_bytes())
    keys = {}
    for unit, path in _sources().items():
        keys[unit] = shared.copy()
        keys[unit].update(path.read_bytes())
    return {unit: digest.hexdigest()[:24] for unit, digest in keys.items()}


def _kernels() -> pathlib.Path:
    """The folder of the files of kernels."""
    return pathlib.Path(__file__).resolve().parents[1] / "kernels"


def _sources() -> dict[str, pathlib.Path]:
    """The file of each unit. A kernel that has only loops of others is none."""
    files = [*_kernels().glob("[!_]*_numba.py"), *_kernels().parent.glob("*_numba.py")]
    loops = {path.stem: path for path in sorted(files) if "\n@loop\n" in path.read_text(encoding="utf-8")}
    return {CREW: pathlib.Path(__file__).with_name("crew.py"), **loops}


def _read(path: pathlib.Path) -> Code | None:
    """The code in a file; None if it is missing, not ours, or damaged."""
    try:
        with path.open("rb") as file:
            if not _is_safe(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    seal, body = data[:32], data[32:]
    return _parsed(body) if hashlib.sha256(body).digest() == seal else None


def _write(folder: pathlib.Path, unit: str, name: str, code: Code) -> bool:
    """Put a unit's file in its place at once, and remove its oldest; False where that cannot be done."""
    body = packed(code)
    try:
        handle, new = tempfile.mkstemp(dir=folder, prefix=f"{unit}-", suffix=".bin")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(new, folder / name)
        for old in sorted(folder.glob(f"{unit}-*.bin"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            old.unlink()
    except OSError:
        return _read(folder / name) is not None
    return True


def packed(code: Code) -> bytes:
    """A table of names, symbols and lengths as JSON, behind its length, and then the machine code."""
    table = json.dumps([(name, symbol, len(machine_code)) for name, (symbol, machine_code) in code.items()]).encode()
    return len(table).to_bytes(8, "little") + table + b"".join(machine_code for _, machine_code in code.values())


def _parsed(body: bytes) -> Code:
    end = 8 + int.from_bytes(body[:8], "little")
    code, place = {}, end
    for name, symbol, length in json.loads(body[8:end]):
        code[name] = symbol, body[place : place + length]
        place += length
    return code


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Alone among processes; a lock ends with the process that has it. Where the system has no locks, without."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            _lock_file(stack.enter_context(path.open("a+b")))
        yield


def _lock_file(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # for ten seconds: then both compile
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _compiled(units: list[str]) -> dict[str, Code]:
    """Units that are compiled now, by as many processes as there are CPUs.

    Raises:
        RuntimeError: a process has failed; its last words.
    """
    if not units:
        return {}
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = _shares(units, min(cpus, MOST_PROCESSES))
    begin, same_line = time.perf_counter(), sys.stderr is not None and sys.stderr.isatty()
    what = "its kernels" if CREW in units else ", ".join(unit.removesuffix("_numba") for unit in units)
    _say(f"minigrad: compiling {what} for this machine, once ...", "" if same_line else "\n")
    with tempfile.TemporaryDirectory(prefix="minigrad-") as folder:
        processes = [_start(folder, share) for share in shares]
        errors = [process.communicate()[1] for process in processes]
        for process, error in zip(processes, errors, strict=True):
            if process.returncode:
                lines = error.decode(errors="replace").strip().splitlines() or ["no message"]
                raise RuntimeError(f"compiling them failed: {lines[-1]}")
        code = {unit: _parsed((pathlib.Path(folder) / unit).read_bytes()) for unit in units}
    _say(f" done in {time.perf_counter() - begin:.0f} s" if same_line else "", "\n")
    return code


def _shares(units: list[str], count: int) -> list[list[str]]:
    """At most ``count`` parts of the units, of about as many bytes of source."""
    sizes = {unit: path.stat().st_size for unit, path in _sources().items()}
    shares: list[list[str]] = [[] for _ in range(count)]
    for unit in sorted(units, key=sizes.__getitem__, reverse=True):
        min(shares, key=lambda share: sum(sizes[other] for other in share)).append(unit)
    return [share for share in shares if share]


def _start(folder: str, units: list[str]) -> subprocess.Popen[bytes]:
    """A process that compiles units: Numba itself is not loaded here."""
    command = [sys.executable, "-P", "-m", f"{__package__}.build", folder, *units]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(_kernels().parents[2]), *filter(None, sys.path)]),
        "MINIGRAD_FAST": "0",
    }
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE)


def _say(text: str, end: str) -> None:
    if sys.stderr is not None and text:
        print(text, end=end, file=sys.stderr, flush=True)


def _forget_lock() -> None:
    """A thread that held it when the process forked does not exist in the child."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
