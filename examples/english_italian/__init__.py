"""The grammar that generated the English-Italian corpus in ``minigrad_models.translation.english_italian``.

    python -m examples.english_italian                 # write that file again
    python -m examples.english_italian 1000 --seed 7   # print other sentences

From words to corpus: `words.toml` and `lexicon` (the words), `morphology` (their forms), `pieces`, `phrases` and
`clauses` (both languages in parallel), `speaker` (the choice of topics), `rules` (a function for each kind of sentence)
and `corpus` (splits).
"""
