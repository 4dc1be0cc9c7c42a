"""The site: the documents, a playground and the translator, with the framework itself running in the reader's browser.

    python tasks.py site              build it, in site/
    python tasks.py site --serve      build it, and show it

``build`` calls ``node`` (npm packages), ``pages`` (the documents, with MkDocs), ``packs`` (the Python files for the
browser), ``scripts`` and ``translator``. ``server`` shows the result locally. src/ has the pages' own scripts, and
python/ has the programs that these scripts run in the browser.
"""
