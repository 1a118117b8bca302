"""Images, documents and sounds as bytes or base64: how large they are and what they cost. Knows no messages."""
