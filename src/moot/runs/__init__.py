"""Runs: what is allowed here, commands and effects, and the programs behind `moot run PACK`.

`drivers` drives the tasks of a pack: it runs one stage after another and records each task as a run
(`moot.core.deciders.run`). `answers` finds a structured answer in the output of an agent. Which stages there are, what
an agent is asked and when it has done its part, only the pack knows: `Protocol.driver` names its code. The verbs are in
`moot.api.verbs.runs`; they hand over the parts of their call.
"""
