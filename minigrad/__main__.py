"""``python -m minigrad``: the command that is installed with the framework, also where scripts are not on PATH."""

import sys
from importlib import import_module

if __name__ == "__main__":
    sys.exit(import_module("minigrad_models.commands.minigrad_command").main())
