"""Sites, and the vehicles that are inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import Field
from starlette.responses import Response

from orchestrator.serving.gateway.extension import Model
from plate_cameras.clocks import unix_s
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, route
from plate_cameras.control_room.rest.documents import to_pass
from plate_cameras.control_room.rest.exchange import (
    answer,
    answer_in_thread,
    named_in_path,
    page_of,
    path_value,
    query_of,
    requester_of,
)
from plate_cameras.control_room.rest.queries import NamesQuery, PageQuery, Query
from plate_cameras.control_room.rest.schemas import PassFields
from plate_cameras.setting_parts import Site
from plate_cameras.store.finding.inside import HOUR_S, InsideQuery
from plate_cameras.store.finding.pass_query import Requester

NO_CONTENT = 204
DEPARTURE = "/v1/sites/{name}/departures/{id}"


class SiteAnswer(Model):
    """A yard or car park."""

    name: str = Field(description="Its name", examples=["yard"])
    entries: tuple[str, ...] = Field(description="Cameras at its entries")
    exits: tuple[str, ...] = Field(description="Cameras at its exits")
    max_stay_hours: float = Field(description="Longest stay; 0 for no limit", examples=[12.0])


class SitesAnswer(Model):
    """The sites, in the order of their file."""

    sites: tuple[SiteAnswer, ...] = Field(description="The sites")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class VehicleInside(Model):
    """A vehicle whose last pass at a site was an entry."""

    entry: PassFields
    stay_s: float = Field(description="Seconds since the entry", examples=[5400.0])
    is_overstay: bool = Field(description="Whether it stays too long")


class VehiclesPage(Model):
    """Vehicles that are inside, the newest entry first."""

    vehicles: tuple[VehicleInside, ...] = Field(description="The vehicles")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class VehiclesQuery(PageQuery):
    """The wanted vehicles."""

    overstays: bool = Field(False, description="Only those that stay too long", examples=[False])


@Operation("sites", "All sites", "sites", answer=SitesAnswer, query=NamesQuery)
@route("GET", "/v1/sites", Role.VIEWER, is_background=True)
async def list_all(request: RoomRequest) -> Response:
    """Return a page of the sites of which the principal may see all cameras."""
    page, cursor = page_of(_sites_of(request), query_of(request, NamesQuery))
    names = SiteAnswer.model_fields
    sites = tuple(SiteAnswer(**{name: getattr(site, name) for name in names}) for site in page)
    return answer(SitesAnswer(sites=sites, cursor=cursor))


@Operation("inside", "Who is inside", "sites", answer=VehiclesPage, query=VehiclesQuery)
@route("GET", "/v1/sites/{name}/vehicles", Role.VIEWER, is_background=True)
async def list_vehicles(request: RoomRequest) -> Response:
    """Return a page of the vehicles that are inside of a site."""
    query, site, now_s = query_of(request, VehiclesQuery), _site_of(request), unix_s()
    requester = requester_of(request, query, needs_reason=True)
    inside_query = InsideQuery.of(site, now_s, overstays=query.overstays)
    inside_query = replace(inside_query, limit=query.limit, cursor=query.cursor)
    limit_s = HOUR_S * site.max_stay_hours

    def read() -> VehiclesPage:
        page = request.room.store.inside.page(site, inside_query, requester)
        vehicles = []
        for found_pass in page.passes:
            stay_s = max(0.0, now_s - found_pass.first_seen_s)
            entry = to_pass(found_pass, page.hits.get(found_pass.number, ()))
            is_overstay = 0 < limit_s < stay_s
            vehicles.append(VehicleInside(entry=entry, stay_s=stay_s, is_overstay=is_overstay))
        return VehiclesPage(vehicles=tuple(vehicles), cursor=page.cursor)

    return await answer_in_thread(request, read)


@Operation("markLeft", "Note that the vehicle of an entry has left", "sites", status=NO_CONTENT)
@route("PUT", DEPARTURE, Role.EDITOR)
async def mark_left(request: RoomRequest) -> Response:
    """Note that a vehicle whose exit was not read has left."""
    return await _mark(request, request.room.store.inside.mark_left)


@Operation("markInside", "Take back that a vehicle has left", "sites", status=NO_CONTENT)
@route("DELETE", DEPARTURE, Role.EDITOR)
async def mark_inside(request: RoomRequest) -> Response:
    """Note that a vehicle is inside nevertheless."""
    return await _mark(request, request.room.store.inside.mark_inside)


async def _mark(request: RoomRequest, mark: Callable[[Site, str, Requester], None]) -> Response:
    requester = requester_of(request, query_of(request, Query))
    site, pass_id = _site_of(request), path_value(request, "id")
    await request.room.threads.run(lambda: mark(site, pass_id, requester))
    return Response(status_code=NO_CONTENT)


def _sites_of(request: RoomRequest) -> list[Site]:
    """Return the sites of the principal. With a part of the cameras, all would seem inside."""
    sites = request.room.configuration.sites
    return [site for site in sites if all(map(request.scope.sees, site.cameras))]


def _site_of(request: RoomRequest) -> Site:
    return named_in_path(request, _sites_of(request), "site")


ROUTES = (list_all, list_vehicles, mark_left, mark_inside)
