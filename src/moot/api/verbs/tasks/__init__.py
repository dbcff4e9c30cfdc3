"""Verbs about tasks: moving them, the board, what they need, and checks with receipts."""
