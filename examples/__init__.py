"""Programs for users to run."""
