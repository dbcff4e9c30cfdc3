"""Read models: everything one looks at, folded from the log into a file of their own.

They can be deleted at any time and are rebuilt. They know the deciders' `evolve`, and no log and no clock.
"""
