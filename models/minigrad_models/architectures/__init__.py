"""Complete architectures, one readable file each."""
