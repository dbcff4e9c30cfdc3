"""The engine that takes targets through the stages of a pack, and believes nothing that it has not checked.

`contract` is what a pack's author needs. A pack declares its stages in `pack.toml` (`moot.runs.stage`) and adds
code for what data cannot express. The engine knows no protocol.
"""
