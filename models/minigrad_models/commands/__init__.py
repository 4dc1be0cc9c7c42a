"""What the command ``minigrad`` does besides the translator's commands: pictures, profiles, programs for PyTorch.

``minigrad_command`` has the table of all commands. What one needs is imported when it runs, so that ``minigrad --help``
is quick and needs no extra.
"""
