"""Forms as browsers and curl send them."""

BOUNDARY = "the-boundary"
CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def part(content: bytes, disposition: str = 'form-data; name="picture"; filename="a.jpg"') -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n"
    return head.encode("utf-8", "surrogateescape") + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
