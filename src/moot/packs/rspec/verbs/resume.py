"""rspec resume: go on with a run; rspec stage: one stage of one document."""
