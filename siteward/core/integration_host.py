"""The host as integrations see it (`plugins.objects.Host`): events in, pictures, gates and one way out for bytes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final

from siteward.core.clock import Clock
from siteward.core.errors import CameraDown, NotReady, SitewardError, UnknownRole
from siteward.core.events.event import Event
from siteward.core.plugins.objects import Camera, CameraKind, GateSettings, Picture
from siteward.core.site.audit import Actor
from siteward.core.site.configuration import CameraSettings
from siteward.core.site.site import Site
from siteward.core.store.errors import CommitFailed, LostRace, ReadFailed, StoreClosed

SNAPSHOT_SECONDS: Final = 10.0
"""A camera that has not answered by then is down for this step; the run goes on without its picture."""

MAIN: Final = "main"
"""The name of the one process of a site that has no replicas."""

Accept = Callable[[Event], Awaitable[object]]


class IntegrationHost:
    """What an integration may use of a host. `accept` is bound once the engine is there; until then nothing is emitted."""

    def __init__(self, folder: str, site: Site, kinds: Mapping[str, CameraKind], replica: str = MAIN) -> None:
        self._folder = folder
        self._replica = replica
        self._site = site
        self._kinds = kinds
        self._accept: Accept | None = None
        self._cameras: dict[str, Camera] = {}
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._exits = AsyncExitStack()
        self._at_work = asyncio.Event()

    @property
    def clock(self) -> Clock:
        return self._site.clock

    @property
    def config_dir(self) -> str:
        return self._folder

    @property
    def replica(self) -> str:
        return self._replica

    async def site_id(self) -> str:
        return await self._site.identity()

    async def at_work(self) -> None:
        await self._at_work.wait()

    def begin_work(self) -> None:
        """Say that everything is set up and the engine runs."""
        self._at_work.set()

    def bind(self, accept: Accept) -> None:
        """Give it the engine's way in for events."""
        self._accept = accept

    async def emit(self, event: Event) -> None:
        """Accept an event. Raises `NotReady` where the database does not say that it is kept, and `RuntimeError` where the engine is not there
        yet: an integration emits from its set-up on."""
        if self._accept is None:
            raise RuntimeError("an event was emitted before the engine was there")
        try:
            await self._accept(event)
        except (CommitFailed, LostRace, ReadFailed, StoreClosed) as error:
            raise NotReady(f"Event {event.id} may not be kept: {error.sentence}", where=event.id) from error

    def reached(self, url: str, *, purpose: str) -> AbstractAsyncContextManager[tuple[str, ...]]:
        return self._site.egress.reached(url, purpose=purpose)

    async def http(
        self,
        method: str,
        url: str,
        *,
        purpose: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> tuple[int, bytes]:
        return await self._site.egress.request(
            method, url, purpose=purpose, body=body, headers=headers, timeout=timeout
        )

    def gate(self, role: str) -> GateSettings:
        gate = self._site.configuration.gates.get(role)
        if gate is None:
            raise UnknownRole(
                f"This site has no gate {role}; its gates stand under `gates` in configuration.yaml.", where=role
            )
        return GateSettings(role, gate.driver, gate.settings)

    def destination(self, role: str) -> str:
        destination = self._site.configuration.destinations.get(role)
        if destination is None:
            raise UnknownRole(
                f"This site has no destination {role}; an admin lists it under `destinations` in configuration.yaml.",
                where=role,
            )
        return destination.url

    async def set_site_mode(self, mode: str, *, by: str, key: str) -> str:
        """Set the mode; the same mode again changes nothing, so a repeat with the same `key` is harmless by itself."""
        if (await self._site.mode.read()).value == mode:
            return mode
        await self._site.mode.set(Actor(by), mode)
        return (await self._site.mode.read()).value

    async def snapshot(self, camera: str) -> Picture:
        settings = next((c for c in self._site.configuration.cameras if c.id == camera), None)
        if settings is None:
            raise UnknownRole(f"This site has no camera {camera}.", where=camera)
        try:
            async with asyncio.timeout(SNAPSHOT_SECONDS):
                opened = await self._open(settings)
                return await opened.snapshot()
        except TimeoutError:
            raise CameraDown(
                f"The camera {settings.name} gave no picture within {SNAPSHOT_SECONDS:.0f} s. Check its power, its network "
                "and its address in configuration.yaml.",
                where=camera,
            ) from None

    async def camera_problems(self) -> Mapping[str, str]:
        """What is wrong with how cameras are configured, by camera id; whether one answers shows at its first picture."""
        cameras = self._site.configuration.cameras
        found = await asyncio.gather(*(self._problem_of(camera) for camera in cameras))
        return {camera.id: problem for camera, problem in zip(cameras, found, strict=True) if problem}

    async def _problem_of(self, settings: CameraSettings) -> str:
        try:
            async with asyncio.timeout(SNAPSHOT_SECONDS):
                await self._open(settings)
        except SitewardError as error:
            return error.sentence
        except TimeoutError:
            return f"The camera {settings.name} could not be opened within {SNAPSHOT_SECONDS:.0f} s."
        return ""

    async def _open(self, settings: CameraSettings) -> Camera:
        async with self._opening[settings.id]:  # one camera that hangs holds up no other
            opened = self._cameras.get(settings.id)
            if opened is not None:
                return opened
            kind = self._kinds.get(settings.kind)
            if kind is None:
                raise CameraDown(
                    f"The camera {settings.name} is of the kind {settings.kind}, which no loaded integration opens. "
                    "Enable the integration, or correct the kind in configuration.yaml.",
                    where=settings.id,
                )
            opened = await kind.open(settings.id, settings.settings, self)
            self._cameras[settings.id] = opened
            self._exits.push_async_callback(opened.close)
            return opened

    async def store_picture(self, picture: Picture) -> str:
        return await self._site.media.keep(picture)

    async def stored_picture(self, media_id: str) -> Picture:
        return await self._site.media.read(media_id)

    async def close(self) -> None:
        """Let go of every camera."""
        await self._exits.aclose()
