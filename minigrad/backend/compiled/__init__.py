"""Loops that Numba compiles, and the threads that run them (the ``fast`` extra).

A kernel file ``NAME_numba.py`` consists of plain loops over float32 (``loops.py``). Numba compiles it once per machine,
in a separate process (``build.py``): the transformer kernels together, others when a program first needs them. The
machine code is cached for each user (``store.py``). Later processes load it with llvmlite and never import Numba.

    loops.py       ``@loop`` and ``@inline``: how to define and call a loop
    functions.py   exp, tanh and similar functions that compilers can vectorize; an array's data, shape and strides
    tiles.py       products of small matrices
    native.py      functions that Python cannot express: bits, addresses, BLAS; intrinsics.py has their code, for Numba
    thread_pool.py distributes the blocks of a loop among threads; also compiled
    build.py       the program that compiles
    machine_code.py  the cache of compiled code on disk, which store.py loads
"""

THREAD_POOL = "thread_pool"  # the one unit that is not a kernel file
Code = dict[str, tuple[str, bytes]]  # by function name: its symbol and its machine code
