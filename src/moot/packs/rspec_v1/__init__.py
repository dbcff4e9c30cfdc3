"""A strictly sequential pipeline that writes RSpec tests for one Ruby method. `pack.toml` declares its eight stages.

places            where the document, the spec file and the report of a source file are
validation        whether a metadata document is valid, and every defect of it
caching           whether the document of a source file can be used again
"""
