"""What the command ``minigrad`` does besides the translator's commands: pictures, profiles, programs for PyTorch.

``cli`` has the table of all commands. A command's module adds its options and runs it; libraries and the parts of
minigrad that it needs are imported when it runs, so that ``minigrad --help`` is quick and needs no extra.
"""
