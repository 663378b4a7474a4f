"""What the author of an integration imports, and nothing else of Siteward.

An integration is a folder with `manifest.yaml` and a module that implements hooks:

    from siteward.sdk import Action, ActionCall, Host, Moves, Repeat, hookimpl

    async def greet(call: ActionCall, host: Host) -> dict[str, str]:
        return {"said": f"Hello {call.arguments['name']}"}

    @hookimpl
    def siteward_actions() -> list[Action]:
        return [Action("greeter.greet", Repeat.ONCE, Moves.NO, perform=greet)]

What it registers equals what its manifest declares, or it is refused with the difference. The hooks are documented in
`siteward.core.plugins.hookspecs`, the manifest in `siteward.core.plugins.manifest`. `siteward.sdk.workflows` checks workflow files,
`siteward.sdk.agent` is the AI step as a library, `siteward.sdk.testing` has what tests need.
"""

from siteward.core.agent import Capabilities, ChatResult, Effect, Image, LLMClient, ModelDown, ToolCall, ToolMode
from siteward.core.clock import Clock
from siteward.core.contract.registry import Moves, Provenance, Repeat
from siteward.core.errors import (
    ActionFailed,
    AuthFailed,
    CameraDown,
    ConfigurationInvalid,
    EgressRefused,
    NotReady,
    OutcomeUnknown,
    SitewardError,
    TooLate,
    UnknownRole,
    Unreachable,
)
from siteward.core.events.event import Event
from siteward.core.plugins.entry import Entry
from siteward.core.plugins.event_triggers import VOCABULARY as TRIGGERS
from siteward.core.plugins.event_triggers import equals, event_trigger, lasted
from siteward.core.plugins.hookspecs import hookimpl
from siteward.core.plugins.objects import (
    Action,
    ActionCall,
    AiAnswer,
    AiLimits,
    AiMode,
    AiRequest,
    Camera,
    CameraKind,
    Condition,
    ConditionView,
    GateDriver,
    GateSettings,
    Host,
    ModelKind,
    Picture,
    Record,
    ScenePlayer,
    StepKind,
    ThirdPartyStep,
    Trigger,
)

__all__ = [
    "TRIGGERS",
    "Action",
    "ActionCall",
    "ActionFailed",
    "AiAnswer",
    "AiLimits",
    "AiMode",
    "AiRequest",
    "AuthFailed",
    "Camera",
    "CameraDown",
    "CameraKind",
    "Capabilities",
    "ChatResult",
    "Clock",
    "Condition",
    "ConditionView",
    "ConfigurationInvalid",
    "Effect",
    "EgressRefused",
    "Entry",
    "Event",
    "GateDriver",
    "GateSettings",
    "Host",
    "Image",
    "LLMClient",
    "ModelDown",
    "ModelKind",
    "Moves",
    "NotReady",
    "OutcomeUnknown",
    "Picture",
    "Provenance",
    "Record",
    "Repeat",
    "ScenePlayer",
    "SitewardError",
    "StepKind",
    "ThirdPartyStep",
    "TooLate",
    "ToolCall",
    "ToolMode",
    "Trigger",
    "UnknownRole",
    "Unreachable",
    "equals",
    "event_trigger",
    "hookimpl",
    "lasted",
]
