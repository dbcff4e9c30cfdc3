"""The rules. Pure code: no I/O, no clock, no randomness, no logging. Time and ids are arguments."""
