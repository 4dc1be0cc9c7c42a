"""Libraries that are written for PyTorch, from PyPI and unmodified, on minigrad in its place and on PyTorch itself.

    python -m tests.ecosystem              all of them: two scratch environments each, an example, a comparison
    python -m tests.ecosystem timm peft    these
    python -m tests.ecosystem --sample     those that CI runs
    python -m tests.ecosystem --write      write results.json and docs/ecosystem.md, too
    python -m tests.ecosystem --keep DIR   make the environments in that folder, and leave them there
    python -m tests.ecosystem NAME --in TORCH MINIGRAD
                                           with the Pythons of two environments that are there: nothing is installed

``libraries.toml`` names the libraries, chosen before one of them was tried, and ``libraries/`` has an example of each:
a plain program for PyTorch, whose ``run()`` returns results by name (``training.py`` has their loop). The exit status
is 1 where a verdict is not what the table says: an example differs or fails and the table has no reason for it, or it
is right and the table has one.
"""
