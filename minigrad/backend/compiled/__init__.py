"""Loops that Numba compiles, and threads that run them: the extra ``fast``.

A kernel ``NAME_numba.py`` is written as plain loops over float32 (``loops.py``). Numba compiles it once for a machine,
in a process of its own (``build.py``), those of transformers together, others when a program first needs them; the
machine code is kept in the user's cache (``store.py``). Later processes load it by llvmlite, and never import Numba.

    loops.py       ``@loop`` and ``@inline``: what a loop is, how it is called
    functions.py   exp, tanh and their like, written so that compilers make vector code of them; where an array object
                   keeps its data, shape and steps
    native.py      what Python cannot say: bits, addresses, BLAS; intrinsics.py is their code, for Numba
    crew.py        how threads share the blocks of a loop: itself compiled
    build.py       compiles; run as a program
    machine_code.py  the compiled code on disk: found, or compiled; store.py loads it
"""

from __future__ import annotations

CREW = "crew"  # the unit that is no file of kernels
Code = dict[str, tuple[str, bytes]]  # by a function's name, its symbol and its machine code
