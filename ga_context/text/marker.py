"""Every mark and placeholder that is put into a text: the words of ours that a model reads in place of others.

One form: in square brackets, a statement of what is not there and, where there is one, the reference under which it is
kept. No order and no request, so that nothing reads as one. No decision to cut ever looks for a mark: sizes suffice.

Beside right-to-left text a mark stays in one piece, since what has a number or a reference in it is on a line of its
own: each paragraph is ordered by itself, and a line feed ends one, along with whatever embedding a cut has left open
(UAX #9, P1 and X8). A mark inside a line has no number, or only one behind a word, which then counts as part of that
word's run (W7); a string of JSON has no lines, so there that holds of all. Isolates would do it too, but they are
invisible characters that a model copies into code and commands.
"""

LINE_MARK = "[... omitted ...]"
"""Stands inside a shortened line; `note` at the end of the text gives the reference."""

FOLDED = "[...]"
"""Stands for the content of a block whose newer version is further down."""

MISSING_RESULT = "[no result: this call was never answered]"
"""Answers a call that is followed by something else."""

NO_WORDS = "[the reply ends in its reasoning]"
"""Stands behind reasoning that nothing follows."""

FIRST_USER = "[the conversation starts with the assistant]"
"""Stands before a list that would start with the model."""

EMPTY_RESULT = "[no output]"
"""Stands in a result that holds nothing, where one must: some models refuse an empty list, others a blank text
(strands-agents/harness-sdk#2123)."""

DOCUMENT_TEXT = "[document attached]"
"""Stands beside a document that is alone, where a text must be (Converse API reference, Message.content)."""

EMPTY_LIST = "[the messages so far hold no text]"
"""Is all there is where nothing was left to send."""


TITLE = "[working memory of this session: earlier messages may be shortened or left out]"
"""Fixed first line of the anchor (spec 4.4)."""

DATA = "[data omitted]"
"""Stands for base64 in a line of the anchor."""


def marker(chars: int, ref: str) -> str:
    """Stand between head and tail for `chars` characters that are kept under `ref`."""
    return f"\n[... {chars} characters omitted; saved: ref {ref} ...]\n"


def note(chars: int, ref: str) -> str:
    """End a text whose own marks say where, but not under which reference it is kept."""
    return f"\n[{chars} characters omitted where marked; saved: ref {ref}]"


def left_out(what: str) -> str:
    """Stand in a page for what is not there; in few characters, since there are many of them."""
    return f"[…{what}]"


def page_note(chars: int, ref: str, addresses: int, addresses_ref: str) -> str:
    """End a page of which only a part is there; `addresses` long ones are numbers in it, kept under a reference."""
    numbered = f"; the {addresses} addresses @1 and so on: ref {addresses_ref}" if addresses else ""
    return f"\n[part of a page of {chars} characters; saved: ref {ref}{numbered}]"


def data_mark(chars: int) -> str:
    """Stand for a whole `data:` URI or base64 run."""
    return f"[data: {chars} characters omitted]"


def payload_note(kind: str, ref: str) -> str:
    """Stand for an image, a document or a sound, alone or at the end of a text."""
    return f"[{kind} omitted; saved: ref {ref}]"


def omitted(count: int, what: str) -> str:
    """Stand in JSON text for so many characters of a string, items of an array, keys of an object, or for lines."""
    return f"[... omitted: {count} {what} ...]"


def referred(mark: str, ref: str) -> str:
    """Return a mark with the reference, for the first of several that share it."""
    said, dots, end = mark.partition(" ...]") if " ...]" in mark else mark.partition("]")
    return said + reference(ref) + dots + end


def reference(ref: str) -> str:
    """Return what the reference adds to a mark."""
    return f"; saved: ref {ref}"
