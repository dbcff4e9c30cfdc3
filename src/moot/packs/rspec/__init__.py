"""Agents cover changed Ruby methods with RSpec tests, in waves. `pack.toml` defines the protocol.

One document per class goes through seven stages: discovery-agent, code-analyzer, isolation-decider, test-architect,
factory-agent, test-implementer, test-reviewer. The rules are pure and know no engine:

    agents                 who reads and writes which keys
    answers                the answer of an agent, in one normal form
    changes, discovery, waves, selection
                           which methods are covered, and in which order
    analysis, behaviours   code-analyzer
    document_check         a whole document: shape, bank, trees, markers
    isolation              isolation-decider
    contexts, spec_text, spec_blocks, architect
                           from characteristics to the spec file, and back
    factory_checks, implementer, reviewing
                           what is checked on the real files

`pipeline` connects them with the engine, `cover` and `cover_run` are the run over waves, `verbs` the commands.
"""
