"""What the programs that train a model and keep it share: settings, the folder of a run, updates, the command line."""
