"""A wave of agents on one core."""
