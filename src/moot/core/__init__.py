"""What may happen. Pure: no I/O, no clock, no randomness, no logging; time and ids come in as arguments."""
