"""Runs: what is allowed here, commands and effects, and the program behind `moot run PACK`, which drives agents.

`driving` runs one stage and records it as a run (`moot.core.deciders.run`). `answers` finds a structured answer in the
output of an agent. Which stages there are, what an agent is asked and when it has done its part, only the pack knows:
`Protocol.driver` names its code.
"""
