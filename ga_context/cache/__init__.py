"""The prompt cache: what it did (usage), what it would do (simulators), why it missed, and where its markers stand."""
