"""Runs the steps, in order, with the installed package: ``python steps WHEEL``."""

from __future__ import annotations

import sys

import book

for module in ("first", "extras", "pictures", "models", "mistakes", "translator", "tools"):
    __import__(module)  # each adds its steps to the book
sys.exit(book.run())
