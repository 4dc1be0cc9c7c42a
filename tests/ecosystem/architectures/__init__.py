"""Every architecture of Hugging Face transformers, with a small random configuration, on minigrad and on PyTorch.

    python -m tests.ecosystem.architectures --folder DIR --torch PYTHON --minigrad PYTHON [TYPE ...]

``--torch`` is the interpreter of an environment with transformers and PyTorch, ``--minigrad`` of one with transformers
and minigrad but no PyTorch. A TYPE is a model type ("gpt2"), "kinds" for the forty in ``find.py``, or "a-l" for all
with these initials; the default is all. DIR keeps PyTorch's results, which only ``--again`` measures again.

``find.py`` lists architectures, ``shrink.py`` makes small configurations, ``inputs.py`` makes inputs; ``measure.py``
computes the same on both sides, ``compare.py`` compares it; ``worker.py`` does so for one architecture after another in
a separate process, which ``pool.py`` supervises.
"""
