"""Code shared by the training programs: settings, the folder of a run, the training loop, the command line."""
