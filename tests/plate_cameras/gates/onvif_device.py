"""A fake ONVIF device with relay outputs; it checks requests as a real one does."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from aiohttp import web
from lxml import etree

SOAP = "http://www.w3.org/2003/05/soap-envelope"
DEVICE = "http://www.onvif.org/ver10/device/wsdl"
IO = "http://www.onvif.org/ver10/deviceIO/wsdl"
TYPES = "http://www.onvif.org/ver10/schema"
SECURITY = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-{}-1.0.xsd"
WSSE, WSU = SECURITY.format("secext"), SECURITY.format("utility")
DIGEST = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0"
USER, PASSWORD = "plates", "secret word"


@dataclass
class OnvifDevice:
    """A device with one output.

    Attributes:
        mode: `Monostable` or `Bistable`.
        has_io: True if it has the service DeviceIO; otherwise the management service has the
            outputs.
        states: States that were set, with the path of the service.
        rejections: Reasons of requests that were not accepted.
        hostile: Answers that stand in for the right ones, by operation. The device still switches.
            None ends the connection without an answer.
    """

    mode: str = "Bistable"
    has_io: bool = True
    states: list[tuple[str, str]] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)
    hostile: dict[str, tuple[int, bytes] | None] = field(default_factory=dict)
    port: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        envelope = etree.fromstring(await request.read())
        (operation,) = envelope.find(f"{{{SOAP}}}Body")
        name = etree.QName(operation).localname
        reason = self.check(request, envelope, name)
        if reason:
            self.rejections.append(reason)
            return fault(reason)
        answers: dict[str, Callable[[str, etree._Element], str]] = {
            "GetSystemDateAndTime": self.tell_time,
            "GetServices": self.tell_services,
            "GetRelayOutputs": self.tell_outputs,
            "SetRelayOutputState": self.set_state,
        }
        answer = envelop(answers[name](request.path, operation))
        if name not in self.hostile:
            return answer
        if (instead := self.hostile[name]) is None:
            assert request.transport
            request.transport.abort()
            return answer
        return web.Response(status=instead[0], body=instead[1])

    def check(self, request: web.Request, envelope: etree._Element, name: str) -> str:
        """Return the reason why a request is rejected."""
        if etree.QName(envelope).namespace != SOAP:
            return "wanted SOAP 1.2"
        if not request.headers["Content-Type"].startswith("application/soap+xml"):
            return "wanted application/soap+xml"
        if name == "GetSystemDateAndTime":
            return ""
        return check_login(envelope)

    def tell_time(self, _: str, __: etree._Element) -> str:
        now = datetime.now(timezone.utc)
        return (
            f'<d:GetSystemDateAndTimeResponse xmlns:d="{DEVICE}"><d:SystemDateAndTime>'
            "<t:DateTimeType>NTP</t:DateTimeType><t:DaylightSavings>false</t:DaylightSavings>"
            f"<t:UTCDateTime><t:Time><t:Hour>{now.hour}</t:Hour><t:Minute>{now.minute}</t:Minute>"
            f"<t:Second>{now.second}</t:Second></t:Time><t:Date><t:Year>{now.year}</t:Year>"
            f"<t:Month>{now.month}</t:Month><t:Day>{now.day}</t:Day></t:Date></t:UTCDateTime>"
            "</d:SystemDateAndTime></d:GetSystemDateAndTimeResponse>"
        )

    def tell_services(self, _: str, __: etree._Element) -> str:
        paths = {DEVICE: "/onvif/device_service"} | ({IO: "/onvif/io"} if self.has_io else {})
        services = "".join(
            f"<d:Service><d:Namespace>{name}</d:Namespace>"
            f"<d:XAddr>http://127.0.0.1:{self.port}{path}</d:XAddr>"
            "<d:Version><t:Major>2</t:Major><t:Minor>5</t:Minor></d:Version></d:Service>"
            for name, path in paths.items()
        )
        return f'<d:GetServicesResponse xmlns:d="{DEVICE}">{services}</d:GetServicesResponse>'

    def tell_outputs(self, _: str, operation: etree._Element) -> str:
        assert etree.QName(operation).namespace == DEVICE
        return (
            f'<d:GetRelayOutputsResponse xmlns:d="{DEVICE}"><d:RelayOutputs token="out-1">'
            f"<t:Properties><t:Mode>{self.mode}</t:Mode><t:DelayTime>PT1S</t:DelayTime>"
            "<t:IdleState>open</t:IdleState></t:Properties></d:RelayOutputs>"
            "</d:GetRelayOutputsResponse>"
        )

    def set_state(self, path: str, operation: etree._Element) -> str:
        assert [etree.QName(element).localname for element in operation] == [
            "RelayOutputToken",
            "LogicalState",
        ]
        token, state = (element.text or "" for element in operation)
        assert token == "out-1"
        self.states.append((path, state))
        return f'<d:SetRelayOutputStateResponse xmlns:d="{DEVICE}"/>'


def check_login(envelope: etree._Element) -> str:
    """Return the reason why a login is rejected; the digest is computed by WS-Security."""
    fields = {
        name: envelope.findtext(f".//{{{space}}}{name}") or ""
        for space, name in (
            (WSSE, "Username"),
            (WSSE, "Password"),
            (WSSE, "Nonce"),
            (WSU, "Created"),
        )
    }
    content = base64.b64decode(fields["Nonce"]) + f"{fields['Created']}{PASSWORD}".encode()
    digest = base64.b64encode(hashlib.sha1(content).digest()).decode()
    if fields["Username"] != USER or fields["Password"] != digest or not fields["Nonce"]:
        return "Sender not Authorized"
    return ""


def envelop(body: str, status: int = 200) -> web.Response:
    text = f'<s:Envelope xmlns:s="{SOAP}" xmlns:t="{TYPES}"><s:Body>{body}</s:Body></s:Envelope>'
    return web.Response(text=text, status=status, content_type="application/soap+xml")


def fault(reason: str) -> web.Response:
    return envelop(
        "<s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code><s:Reason>"
        f'<s:Text xml:lang="en">{reason}</s:Text></s:Reason></s:Fault>',
        status=400,
    )
