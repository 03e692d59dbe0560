"""The one rule that turns `base_url` into the address that is called.

The path of `base_url`, without slashes at its end, is where the API lives; an empty path means
``/v1``. ``/embeddings`` is added unless the path ends so already. A query string stays a query
string.

====================================  ==========================================
base_url                              called
====================================  ==========================================
``http://h:1``, ``http://h:1/``       ``http://h:1/v1/embeddings``
``http://h:1/v1``, ``http://h:1/v1/`` ``http://h:1/v1/embeddings``
``http://h:1/api/v3``                 ``http://h:1/api/v3/embeddings``
``http://h:1/embeddings``             ``http://h:1/embeddings``
``https://h/v1?api-version=2``        ``https://h/v1/embeddings?api-version=2``
====================================  ==========================================
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from knowledge_nb.errors import ConfigurationError

_SECRET_PARAMETER = re.compile(r"(?i)([^&=]*(?:key|token|secret|sig|password)[^&=]*=)[^&]*")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go.

    Parameters
    ----------
    url : str
        The full address, for messages; values of secret-looking parameters are starred.
    targets : tuple of str
        The addresses to try, in order; more than one only for ``localhost``.
    alias : str
        For ``localhost``, the Host header that every target gets; else "".
    loopback : bool
        Whether the server is on this machine, so that no proxy may be asked.
    """

    url: str
    targets: tuple[str, ...]
    alias: str
    loopback: bool


def endpoint(base_url: str) -> Endpoint:
    """Apply the rule of this module.

    Raises
    ------
    ConfigurationError
        No http(s) URL with a host, or one that carries a password or a fragment.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"base_url {_starred(base_url)!r} is no URL: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            "base_url must not carry a user name or password; "
            "put the key into an environment variable and its name into api_key_env"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(
            f"base_url {_starred(base_url)!r} must begin with http:// or https:// and name a host"
        )
    if parts.fragment or re.search(r"[\s\x00-\x1f\x7f]", base_url.strip()):
        raise ConfigurationError(
            f"base_url {_starred(base_url)!r} must hold neither a fragment nor white space"
        )
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/") or "/v1"
    if not path.endswith("/embeddings"):
        path += "/embeddings"
    full = parts._replace(path=path)
    local_name = host == "localhost" or host.endswith(".localhost")
    # RFC 6761 gives localhost to this machine, but resolvers often name only one of its addresses.
    targets = tuple(_at(full, address, port) for address in ("[::1]", "127.0.0.1"))
    return Endpoint(
        url=_starred(urlunsplit(full)),
        targets=targets if local_name else (urlunsplit(full),),
        alias=full.netloc if local_name else "",
        loopback=local_name or _is_loopback(host),
    )


def _at(parts: SplitResult, address: str, port: int | None) -> str:
    netloc = address if port is None else f"{address}:{port}"
    return urlunsplit(parts._replace(netloc=netloc))


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _starred(url: str) -> str:
    before, mark, query = url.partition("?")
    # A refused URL is shown too, so its password goes as well.
    before = re.sub(r"(?<=//)[^/@]*@", "***@", before)
    return before + mark + _SECRET_PARAMETER.sub(r"\1***", query)
