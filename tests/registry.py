# SPDX-License-Identifier: Apache-2.0
"""A registry for charts, as far as `helm push` and `helm template oci://…` ask: blobs and manifests in memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class _Handler(BaseHTTPRequestHandler):
    store: dict[str, tuple[str, bytes]]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.rstrip("/") == "/v2":
            self._answer(200)
        elif path in self.store:
            kind, body = self.store[path]
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            length = str(len(body))
            self._answer(
                200, body, Content_Type=kind, Docker_Content_Digest=digest, Content_Length=length
            )
        else:
            self._answer(404)

    do_HEAD = do_GET  # noqa: N815 (the name that the server looks for)

    def do_POST(self) -> None:
        self._body()
        self._answer(202, Location=f"{urlsplit(self.path).path}upload")

    def do_PUT(self) -> None:
        found = urlsplit(self.path)
        body = self._body()
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        if "/blobs/uploads/" in found.path:
            folder = found.path.partition("uploads/")[0]
            assert parse_qs(found.query)["digest"] == [digest]
            self.store[f"{folder}{digest}"] = ("application/octet-stream", body)
        else:
            kind = self.headers["Content-Type"]
            folder = found.path.rpartition("/")[0]
            self.store[found.path] = self.store[f"{folder}/{digest}"] = (kind, body)
        self._answer(201, Docker_Content_Digest=digest)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


@contextmanager
def registry() -> Iterator[str]:
    """The address of a registry that lives as long as the block."""
    handler = type("Handler", (_Handler,), {"store": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
