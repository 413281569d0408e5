"""Who may do what, and what a browser may do with the page."""

from __future__ import annotations

import functools
import hmac
import ipaddress
from dataclasses import dataclass

PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ANSWER_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


@dataclass(frozen=True)
class Tokens:
    """The secrets that requests must carry; without any, all may do everything."""

    reading: str | None = None
    learning: str | None = None  # as for reading, if it is not another

    def allow(self, header: str, *, learning: bool) -> bool:
        """Tell whether an Authorization header allows a request."""
        if learning:
            needed = [self.learning or self.reading]
        else:  # whoever may learn may read
            needed = [self.reading, self.learning if self.reading else None]
        tokens = [token for token in needed if token]
        if not tokens:
            return True
        kind, _, given = header.partition(" ")
        found = given.strip().encode("utf-8", "surrogateescape")
        right = [hmac.compare_digest(found, token.encode()) for token in tokens]
        return kind.lower() == "bearer" and any(right)

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.reading or self.learning)


def host_name(host: str) -> str:
    """Return a Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


@functools.lru_cache(16)
def is_local(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
