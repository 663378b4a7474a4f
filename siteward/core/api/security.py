"""What stands around every answer: headers that keep the pages to themselves, and the checks against forged requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from siteward.core.errors import NotAllowed
from siteward.core.site.sessions import Session

COOKIE: Final = "siteward_session"
CSRF_HEADER: Final = "X-CSRF-Token"
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def check_origin(request: web.Request, *, must_be_told: bool = False) -> None:
    """Refuse a request that a page of another origin made. `must_be_told` refuses also where the browser does not say.

    Raises `NotAllowed`.
    """
    origin = request.headers.get("Origin")
    if origin is None:
        if must_be_told or request.headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
            raise NotAllowed("This request does not come from this site's own pages.", code="origin.foreign")
        return
    parts = urlsplit(origin)
    if parts.netloc != request.host or parts.scheme != request.scheme:
        raise NotAllowed("This request does not come from this site's own pages.", code="origin.foreign")


def check_forgery(request: web.Request, session: Session) -> None:
    """Refuse a write that did not bring the session's own token. Raises `NotAllowed`."""
    if session.is_forged(request.headers.get(CSRF_HEADER)):
        raise NotAllowed(f"The write lacks this session's token ({CSRF_HEADER}). Reload the page.", code="csrf.missing")


def set_cookie(response: web.StreamResponse, token: str, *, secure: bool, seconds: int) -> None:
    """Give the browser the session's token (an empty one takes it away)."""
    response.set_cookie(
        COOKIE, token, max_age=seconds if token else 0, path="/", httponly=True, samesite="Strict", secure=secure
    )
