"""``python -m minigrad`` runs the ``minigrad`` command, even where installed scripts are not on PATH."""

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.exit(import_module("minigrad_models.commands.minigrad_command").main())
