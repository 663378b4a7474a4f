"""The model kind `embedded.perception`: the networks as an `LLMClient` that fills the published vocabulary and ignores free prompts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import voluptuous as vol

from siteward.sdk import ConfigurationInvalid, Host
from siteward.sdk.agent import Capabilities, ChatResult, Image, LLMClient

from .catalogue import (
    DETECTOR,
    LABELS,
    RAPIDOCR,
    SHIPPED,
    SHIPPED_FOLDER,
    TAGGER,
    TEXT_AREAS,
    TEXT_HEADS,
    TEXT_LINES,
    ModelFile,
    digest_of,
    wrong_file,
)
from .process import Worker
from .vocabulary import VOCABULARY

NAME = "embedded.perception"
LOOKS_LIKE = 1
"""Counts up whenever the way from networks to facts changes: it is another model then, and its score starts anew."""
DEADLINE = 20.0
MOST_PICTURES = 4
CONTEXT_TOKENS = 65_536
"""Prompts are not read here, so none is too long."""
SETTINGS = vol.Schema(
    {
        vol.Optional("threads", default=1): vol.All(int, vol.Range(min=1, max=2)),
        vol.Optional("deadline", default=DEADLINE): vol.All(vol.Any(int, float), vol.Range(min=1, max=120)),
    }
)
TEXT_FIELDS = frozenset({"plate_text", "text_seen"})


@dataclass(frozen=True, slots=True)
class PerceptionSettings:
    """`threads` of the networks (1 or 2), `deadline` in seconds for one look, and the folder that `siteward models add` fills."""

    models_folder: Path
    threads: int = 1
    deadline: float = DEADLINE

    @property
    def reader_folder(self) -> Path:
        """Where the reader's networks are, once added."""
        return self.models_folder / RAPIDOCR.name


class Perception:
    """Looks at pictures in a worker process. Each answer is the facts that the schema asks for, as JSON, with a score for each."""

    def __init__(self, worker: Worker, digest: str, *, reads: bool) -> None:
        self._worker = worker
        self._capabilities = Capabilities(
            model=NAME + (" with reader" if reads else ""),
            digest=digest,
            images=True,
            schema=True,
            deterministic=True,
            vocabulary=VOCABULARY,
            context_tokens=CONTEXT_TOKENS,
        )

    @property
    def capabilities(self) -> Capabilities:
        """A deterministic model with a closed vocabulary; its digest names the networks and the way from them to facts."""
        return self._capabilities

    async def chat(
        self,
        *,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        format: Mapping[str, Any] | None = None,
        images: Sequence[Image] = (),
        temperature: float = 0.2,
        max_tokens: int = 256,
        seed: int | None = None,
    ) -> ChatResult:
        """Fill the fields of `format`. What is not in the vocabulary stays out, and a picture that cannot be read gives no answer that fits."""
        asked = [name for name in (format or {}).get("properties", {}) if name in VOCABULARY]
        pictures = [image.data for image in images[:MOST_PICTURES]]
        if not pictures:
            return ChatResult("There is no picture.", tokens_in=0, tokens_out=0)
        answer = await self._worker.ask({"text": bool(TEXT_FIELDS & set(asked))}, pictures)
        if "facts" not in answer:
            return ChatResult("The picture cannot be read.", tokens_in=0, tokens_out=0)
        facts, scores = answer["facts"], answer["scores"]
        content = json.dumps({"reason": answer["reason"], **{name: facts[name] for name in asked}})
        return ChatResult(content, tokens_in=0, tokens_out=0, scores={n: scores[n] for n in asked if n in scores})

    async def close(self) -> None:
        """End the worker process."""
        await self._worker.close()


async def open_perception(settings: Mapping[str, Any], host: Host) -> LLMClient:
    """Open the model of a site. Raises `ConfigurationInvalid` for wrong settings, and where a shipped file is missing or was changed."""
    try:
        given = SETTINGS(dict(settings))
    except vol.Invalid as error:
        raise ConfigurationInvalid(f"The settings of {NAME} are wrong: {error}.", where=NAME) from error
    return await open_with(
        PerceptionSettings(Path(host.config_dir, "models"), given["threads"], float(given["deadline"]))
    )


async def open_with(settings: PerceptionSettings) -> Perception:
    """The perception of these settings. The worker starts with the first picture. Raises `ConfigurationInvalid`."""
    if (wrong := await asyncio.to_thread(wrong_file, SHIPPED_FOLDER, SHIPPED)) is not None:
        raise ConfigurationInvalid(f"{wrong} Install Siteward again.", code="models.missing", where=NAME)
    reader = (TEXT_AREAS, TEXT_HEADS, TEXT_LINES)
    reads = settings.reader_folder.is_dir()
    if reads and (wrong := await asyncio.to_thread(wrong_file, settings.reader_folder, reader)) is not None:
        raise ConfigurationInvalid(f"{wrong} Run `siteward models add rapidocr`.", code="models.missing", where=NAME)
    files: tuple[ModelFile, ...] = SHIPPED + (reader if reads else ())
    told = {
        "threads": settings.threads,
        "detector": str(SHIPPED_FOLDER / DETECTOR.name),
        "tagger": str(SHIPPED_FOLDER / TAGGER.name),
        "labels": str(SHIPPED_FOLDER / LABELS.name),
        "reader": [str(settings.reader_folder / file.name) for file in reader] if reads else None,
    }
    digest = digest_of((*files, ModelFile("facts", str(LOOKS_LIKE))))
    return Perception(Worker(told, settings.deadline), digest, reads=reads)
