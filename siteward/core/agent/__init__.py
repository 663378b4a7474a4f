"""The AI-step library: given a client, a spec, inputs and limits it returns a typed decision, and never raises.

It imports nothing else of the project and runs alone; apps reach it as `siteward.sdk.agent`.
"""

from .client import Capabilities, ChatResult, Image, LLMClient, ModelDown, ToolCall

__all__ = ["Capabilities", "ChatResult", "Image", "LLMClient", "ModelDown", "ToolCall"]
