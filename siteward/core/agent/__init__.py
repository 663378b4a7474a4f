"""The AI-step library: given a client, a spec, inputs and limits it returns a typed decision, and never raises.

It imports nothing else of the project and runs alone; apps reach it as `siteward.sdk.agent`.
"""

from .client import Capabilities, ChatResult, Image, LLMClient, ModelDown, ToolCall
from .confidence import Band, Calibration, Case, Tables, fact_of
from .decision import UNSURE, ConfidenceSource, Decision, DecisionSpec, Rule, Uncalibrated, UnsureReason
from .fields import FieldType, Malformed
from .limits import Budget, Limits, Usage
from .look import replay_look, run_look
from .prompt import PROMPT_VERSION
from .settings import StepSpec, spec_of
from .suspended import Resume, Suspended
from .tools import Effect, Tool, ToolMode, ToolResult, effective_mode
from .trace import RowKind, RowStatus, TraceRow

__all__ = [
    "PROMPT_VERSION",
    "UNSURE",
    "Band",
    "Budget",
    "Calibration",
    "Capabilities",
    "Case",
    "ChatResult",
    "ConfidenceSource",
    "Decision",
    "DecisionSpec",
    "Effect",
    "FieldType",
    "Image",
    "LLMClient",
    "Limits",
    "Malformed",
    "ModelDown",
    "Resume",
    "RowKind",
    "RowStatus",
    "Rule",
    "StepSpec",
    "Suspended",
    "Tables",
    "Tool",
    "ToolCall",
    "ToolMode",
    "ToolResult",
    "TraceRow",
    "Uncalibrated",
    "UnsureReason",
    "Usage",
    "effective_mode",
    "fact_of",
    "replay_look",
    "run_look",
    "spec_of",
]
