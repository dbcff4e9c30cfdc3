"""Agents cover changed Ruby methods with RSpec tests, in waves. `pack.toml` defines the protocol.

One document per class goes through seven stages: discovery-agent, code-analyzer, isolation-decider, test-architect,
factory-agent, test-implementer, test-reviewer.
"""
