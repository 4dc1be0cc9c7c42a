"""The systems on minigrad, one folder each: translation, GPT, BERT, music; and what they share."""
