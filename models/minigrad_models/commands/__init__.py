"""The ``minigrad`` command. Each subcommand imports its dependencies when it runs, so that ``--help`` is fast."""
