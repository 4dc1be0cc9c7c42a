"""The command ``minigrad``. Each command imports its dependencies when it runs, so that ``--help`` is fast."""
