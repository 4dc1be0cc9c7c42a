"""A page on localhost: a sentence, its translation, the beam, and the attention over the source words."""
