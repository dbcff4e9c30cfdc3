"""A lead works through issues in waves: an agent for each issue, migration numbers and test gates as services."""
