"""The guard of a repository: git hooks that refuse a commit or push of files that somebody else has claimed."""
