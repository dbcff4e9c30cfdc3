"""A strictly sequential pipeline that writes RSpec tests for one Ruby method. `pack.toml` declares its eight stages.

places, locating     where the document, the spec file and the report of a source file are
validation           whether a metadata document is valid, and every defect of it
caching              whether the document of a source file can be used again
analysis, analyzing  what the source says; the stage analyzer
context_tree         the contexts that characteristics ask for
skeleton, placing    the skeleton of a spec, and how it gets into a file that may have other tests
method_block         the part of a spec file that is judged
criteria             what must hold after each stage; also `implementer_criteria` and `factory_criteria`
polishing, polisher  ruby, linter and RSpec, and how their results are judged; `programs`: which need consent
review_rules         the rules that a program decides; `reviewing` and `review_report` make the report
pipeline, sessions   the code of the stages for the engine, and what it needs to know of one request
requests             from what a caller names to a target of the engine
"""
