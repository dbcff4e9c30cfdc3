"""The catalogue of verbs, one answer in three voices, and what a pack is. Every surface is made from it."""
