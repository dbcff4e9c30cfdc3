"""Effects: requests, consent, attempts, and the commands and webhooks that perform them."""
