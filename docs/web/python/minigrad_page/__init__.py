"""The Python side of the site: it runs in the reader's browser, behind the page's buttons."""
