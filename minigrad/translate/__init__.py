"""Train a transformer to translate, and translate with it: ``minigrad train``, ``minigrad translate``.

>>> from minigrad.translate import Translator  # doctest: +SKIP
"""
