"""Every mark that is put into a text. No decision to cut ever looks for one: sizes suffice."""

LINE_MARK = "[... omitted ...]"
"""Stands inside a shortened line; `note` at the end of the text gives the reference."""

FOLDED = "[...]"
"""Stands for the content of a block whose newer version is further down."""


def marker(chars: int, ref: str) -> str:
    """Stand between head and tail for `chars` characters that are kept under `ref`."""
    return f"\n[... {chars} characters omitted; recall ref {ref} ...]\n"


def note(chars: int, ref: str) -> str:
    """End a text whose own marks say where, but not how to get it back."""
    return f"\n[{chars} characters omitted where marked; recall ref {ref}]"


def data_mark(chars: int) -> str:
    """Stand for a whole `data:` URI or base64 run."""
    return f"[data: {chars} characters omitted]"


def payload_note(kind: str, ref: str) -> str:
    """Stand for an image, a document or a sound."""
    return f"[{kind} omitted; recall ref {ref}]"
