"""Word vectors learned from text by skip-gram with negative sampling: nearest words, analogies, and a map.

``python -m examples.embeddings --help`` lists the options. From text to lesson: ``text`` (words of a corpus or file),
``train_embeddings`` (batches of pairs, and the training run), ``vectors`` (the result: nearest words, files),
``analogies`` (questions from the grammar), ``lesson`` (the page).
"""
