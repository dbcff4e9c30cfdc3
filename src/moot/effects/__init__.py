"""Performing effects: requests, consent, attempts, and the programs and webhooks that carry them out."""
