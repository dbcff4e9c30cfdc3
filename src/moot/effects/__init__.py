"""Effects: requests, consent, attempts, and the commands that perform them."""
