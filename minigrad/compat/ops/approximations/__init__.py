"""Special functions that NumPy does not have, on arrays: the series and integrals behind ``ops/special.py``."""
