"""BERT: pre-training on text, fine-tuning on four tasks, and semantic search (Devlin et al. 2019, arXiv 1810.04805).

``minigrad bert --help`` lists the commands. The files, from data to model: ``bert_data`` (data set formats, word
pieces, batches of similar length), ``tasks`` (the four tasks), ``train_bert`` (how models are initialised and trained).
``questions`` generates a small data set of questions.
"""
