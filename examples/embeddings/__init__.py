"""Vectors of words from a text, by skip-gram with negative sampling: nearest words, analogies, a map.

``python -m examples.embeddings --help`` tells of it. From text to lesson: ``text`` (words of a corpus or of a file),
``training`` (batches of pairs, and the run), ``vectors`` (what comes out: nearest words, files), ``analogies``
(questions that a grammar asks), ``lesson`` (the page).
"""
