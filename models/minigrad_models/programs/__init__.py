"""Code shared by the training programs: settings, run folders, the training loop and the command line."""
