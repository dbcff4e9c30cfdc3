"""Driving agents: the program behind `moot run PACK`, which starts the commands of agents and keeps the record.

`driver_lock` lets one driver at a time work on a pack. `driving` runs one stage and records it as a run
(`moot.core.deciders.run`). `answers` finds a structured answer in the output of an agent. Which stages there are, what
an agent is asked and when it has done its part, only the pack knows: `Protocol.driver` names its code.
"""
