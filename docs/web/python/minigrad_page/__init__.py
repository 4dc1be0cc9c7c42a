"""The Python side of the site: what runs in the reader's browser, below the page's buttons."""
