"""Run the steps in order with the installed package: ``python steps WHEEL``."""

import signal
import sys

import book

# Background jobs of a script, as in .ci/run, ignore Ctrl-C, and so would the programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

for module in ("first", "extras", "pictures", "models", "mistakes", "translator", "tools"):
    __import__(module)  # each adds its steps to the book
sys.exit(book.run())
