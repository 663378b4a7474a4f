"""The errors that cross rooms: each carries a code, a sentence for a person, and, where there is one, a place."""

from __future__ import annotations


class SitewardError(Exception):
    """Something a person should read. `code` is stable, `sentence` says what is wrong and what to do, `where` is a file and line or a name."""

    code = "error"

    def __init__(self, sentence: str, *, code: str | None = None, where: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        if code is not None:
            self.code = code
        self.where = where


class ConfigurationInvalid(SitewardError):
    """The site's configuration, a manifest or an argument is wrong."""

    code = "configuration.invalid"


class NotReady(SitewardError):
    """A thing outside (camera, model, broker) is not there yet; trying again later may help."""

    code = "not_ready"


class AuthFailed(SitewardError):
    """A thing outside refused our credentials."""

    code = "auth_failed"


class CameraDown(SitewardError):
    """A camera gives no picture."""

    code = "camera.down"


class ActionFailed(SitewardError):
    """An action did not do what it should. For a move: it is known that nothing moved (else the step is `unknown`)."""

    code = "action.failed"


class TooLate(ActionFailed):
    """What allowed a move ran out before it was sent. Nothing was sent."""

    code = "effect.expired"


class OutcomeUnknown(SitewardError):
    """An action may or may not have acted (the answer was lost). Never retried."""

    code = "action.unknown"


class Unreachable(SitewardError):
    """A destination did not answer."""

    code = "unreachable"


class EgressRefused(SitewardError):
    """The site does not allow bytes to go there."""

    code = "egress.refused"


class UnknownRole(SitewardError):
    """A role that the site has not mapped."""

    code = "role.unknown"


class NotAllowed(SitewardError):
    """The person may not do this."""

    code = "not_allowed"


class Conflict(SitewardError):
    """The write started from a version that is no longer the newest."""

    code = "conflict"


class NotFound(SitewardError):
    """There is no such thing (or the person may not see it)."""

    code = "not_found"
