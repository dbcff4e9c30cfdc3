"""The ways in. They never import each other; each is made from the catalogue."""
