"""A page on localhost with a sentence, its translation, the beam, and the attention over the source words."""
