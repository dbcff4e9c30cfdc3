"""The user interfaces: command line and Python. Each is built from the catalogue; neither imports the other."""
