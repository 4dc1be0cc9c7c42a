"""BERT: pre-training on a text, four fine-tunings, and search by meaning (Devlin et al. 2019, arXiv 1810.04805).

``minigrad bert --help`` tells of it. From files to a model: ``data`` (the formats of the data sets),
``encoding`` (texts as word pieces, batches of like length), ``task`` (what a fine-tuning has to say for itself) and the
three kinds of it, ``classification``, ``tagging``, ``spans``; ``tasks`` is their list, ``finetuning`` their one loop.
``questions`` writes a small data set for questions. ``masking`` makes the examples of ``pretraining``; ``training`` is
what it shares with fine-tuning, ``start`` where all models begin. ``search`` stands alone.
"""
