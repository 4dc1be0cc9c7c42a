"""The site: the documents, a playground and the translator, with the framework itself running in the reader's browser.

    python tasks.py site              build it, in site/
    python tasks.py site --serve      build it, and show it

``build`` calls the others in order: ``node`` (npm packages), ``packs`` (the Python files for the browser), ``pages``
(the documents, in MkDocs's form). ``server`` shows the result locally. src/ has the page's own scripts, python/ the
programs that run below them in the browser.
"""
