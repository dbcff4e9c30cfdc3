"""The read models, folded from the log into files of their own.

They can be deleted at any time and are then rebuilt. This package uses the deciders' `evolve`, but no log and no clock.
"""
