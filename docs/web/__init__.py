"""The site: the documents, a playground and the translator, with the framework itself running in the reader's browser.

    python tasks.py site              build it, in site/
    python tasks.py site --serve      build it, and show it

``build`` calls the others in order: ``node`` (what comes from npm), ``packs`` (the Python files that the browser
gets), ``pages`` (the documents, as MkDocs wants them). ``server`` shows the result here. src/ has the page's own
scripts, python/ what runs below them in the browser.
"""
