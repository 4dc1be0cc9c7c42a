"""Code shared by the training programs: settings, a run's folder, the training loop, the command line."""
