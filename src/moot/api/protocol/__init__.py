"""What the data of a pack makes of a message, without a line of the pack's own code."""
