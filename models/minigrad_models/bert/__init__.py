"""BERT: pre-training on a text, four fine-tunings, and search by meaning (Devlin et al. 2019, arXiv 1810.04805).

``minigrad bert --help`` tells of it. From files to a model: ``bert_data`` (the formats of the data sets, texts as word
pieces, batches of like length), ``tasks`` (the four of them), ``train_bert`` (where models begin, and how they train).
``questions`` writes a small data set for questions.
"""
