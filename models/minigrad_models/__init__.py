"""Systems built on minigrad, one folder each (translation, GPT, BERT, music), and the code that they share."""
