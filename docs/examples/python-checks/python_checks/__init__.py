"""A pack with a pipeline: lint, test and review Python files."""
