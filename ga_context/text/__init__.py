"""Strings only: what is cut out of a text, how it is marked, where tags stand, how long it is as JSON."""
