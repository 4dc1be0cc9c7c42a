"""Every architecture of Hugging Face transformers, at a small random configuration, on minigrad and on PyTorch.

    python -m tests.ecosystem.architectures --folder DIR --torch PYTHON --minigrad PYTHON [TYPE ...]

``--torch`` is the interpreter of an environment with transformers and PyTorch, ``--minigrad`` of one with transformers
and minigrad and no PyTorch. A TYPE is a model type ("gpt2"), "kinds" are the forty of ``find.py``, "a-l" all whose
names begin so; none are all. What PyTorch found is kept in DIR, and measured again only with ``--again``.

``find.py`` lists architectures, ``shrink.py`` makes their configurations small, ``inputs.py`` their inputs;
``measure.py`` is what both sides compute, ``compare.py`` when it is equal; ``worker.py`` does so for one architecture
after another in a process of its own, which ``pool.py`` guards.
"""
