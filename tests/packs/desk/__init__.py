"""A pack that lives only here. As an installed one it has the code in `protocol`; as a folder it is data alone."""
