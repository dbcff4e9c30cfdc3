"""The pages of the shop. Every feature adds its own, so this file is shared."""

ROUTES = {"/": "home"}
