"""BERT: pre-training on a text, four fine-tunings, and search by meaning (Devlin et al. 2019, arXiv 1810.04805).

``minigrad bert --help`` lists the commands. The files, from data to a model: ``bert_data`` (the formats of the data
sets, texts as word pieces, batches of similar length), ``tasks`` (the four tasks), ``train_bert`` (how models are
initialised and trained). ``questions`` generates a small data set of questions.
"""
