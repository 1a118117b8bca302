"""A session as JSON and back: what decides the next bytes (spec 11.5).

Raw messages are written as digests: the caller still holds them, or the view and, with the originals, the rest. The
first list that a loaded session is given is matched against them, and the view is made again from its messages. What
each turn before the dump did is not written down: it is played again when the caller goes back that far.
"""

from ga_context.checkpoint.dumping import dump
from ga_context.checkpoint.loading import adopt, load, restored
from ga_context.checkpoint.replay import went_back
from ga_context.checkpoint.saved import VERSION

__all__ = ["VERSION", "adopt", "dump", "load", "restored", "went_back"]
