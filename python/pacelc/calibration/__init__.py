"""A database's model, calibrated from runs."""
