"""Recorded sessions, played turn by turn through a configuration."""
