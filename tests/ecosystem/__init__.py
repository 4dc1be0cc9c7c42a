"""Runs unmodified libraries from PyPI, which are written for PyTorch, on minigrad and on PyTorch itself.

    python -m tests.ecosystem              all of them: two scratch environments each, an example, a comparison
    python -m tests.ecosystem timm peft    these
    python -m tests.ecosystem --sample     the libraries that CI runs
    python -m tests.ecosystem --write      also write results.json and docs/ecosystem.md
    python -m tests.ecosystem --keep DIR   create the environments in that folder, and keep them
    python -m tests.ecosystem NAME --in TORCH MINIGRAD
                                           use the Pythons of two existing environments: nothing is installed

``libraries.toml`` lists the libraries, which were chosen before any was tried, and ``libraries/`` has an example of
each: a plain PyTorch program, whose ``run()`` returns results by name (``training.py`` has their loop). The exit status
is 1 if a verdict contradicts the table: an example differs or fails and the table has no reason for it, or it is right
and the table has one.
"""
