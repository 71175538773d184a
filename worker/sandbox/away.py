"""Says in one sentence what is wrong with the way to a Docker engine, and what to do about it."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.domain.errors import Refused

SCHEMES = ("unix", "tcp", "ssh")
WANTED = "unix:///path/of/docker.sock, ssh://machine or tcp://machine:2376 (with TLS) is wanted"

# What a client library's words hold, and what an operator should read; the first that fits counts.
SIGNS = (
    ("CERTIFICATE_REQUIRED", "the engine wants a certificate of this caller and got none; is "
     "cert.pem in DOCKER_CERT_PATH the right one?"),
    ("ALERT_CERTIFICATE_EXPIRED", "the engine says that cert.pem in DOCKER_CERT_PATH has expired; "
     "renew it"),
    ("ALERT_UNKNOWN_CA", "the engine does not know who signed cert.pem in DOCKER_CERT_PATH; let "
     "the engine's CA sign one"),
    ("ALERT_BAD_CERTIFICATE", "the engine does not take cert.pem in DOCKER_CERT_PATH; let the "
     "engine's CA sign one"),
    ("certificate has expired", "the engine's certificate has expired; renew it on the engine's "
     "machine"),
    ("certificate is not yet valid", "the engine's certificate is not valid yet; is the clock of "
     "this machine right?"),
    ("Hostname mismatch", "the engine's certificate is for another name than the one in "
     "DOCKER_HOST; use a name that it holds"),
    ("IP address mismatch", "the engine's certificate is for another address than the one in "
     "DOCKER_HOST; use a name that it holds"),
    ("CERTIFICATE_VERIFY_FAILED", "the engine's certificate is not of the CA in DOCKER_CERT_PATH; "
     "is it the right machine?"),
    ("WRONG_VERSION_NUMBER", "what listens there speaks no TLS; name the engine's TLS port "
     "(usually 2376) in DOCKER_HOST"),
    ("Could not find the TLS", "a file in DOCKER_CERT_PATH cannot be read; may this user?"),
    ("KEY_VALUES_MISMATCH", "key.pem in DOCKER_CERT_PATH does not belong to cert.pem; put the pair "
     "there"),
    ("EOF occurred in violation", "the engine broke TLS off; perhaps it does not take cert.pem in "
     "DOCKER_CERT_PATH: let its CA sign one"),
    ("[SSL", "the files in DOCKER_CERT_PATH are no certificates and key in PEM form, or TLS broke "
     "off"),
    ("[X509", "the files in DOCKER_CERT_PATH are no certificates in PEM form; put them there"),
    ("resolve", "the name in DOCKER_HOST is not known; is it spelled right?"),
    ("Permission denied", "this user may not open the Docker engine's socket; add it to the group "
     "that owns the socket (usually docker)"),
    ("No such file or directory", "there is no socket of a Docker engine; is it running? Start it, "
     "or say in DOCKER_HOST where it listens"),
    ("Not a directory", "there is no socket of a Docker engine; say in DOCKER_HOST where it "
     "listens"),
    ("Connection refused", "no Docker engine listens there; is it running? Start it, or say in "
     "DOCKER_HOST where it listens"),
    ("No route to host", "no way leads to the machine in DOCKER_HOST; is it on?"),
    ("unreachable", "no way leads to the machine in DOCKER_HOST; is the network up?"),
    ("timed out", "the Docker engine did not answer in time; is it well, and the address right?"),
)  # fmt: skip


def sentence(said: str) -> str:
    """What the words of a failed call mean; themselves where that is not known."""
    for sign, meant in SIGNS:
        if sign in said:
            return meant
    return f"no answer from the Docker engine; is it running? ({said})"


def advised(said: str) -> str:
    """An engine's refusal, with what to do about it where that is known."""
    if "nknown runtime" in said or "nvalid runtime" in said:
        return f"{said}; install it there and name it in the engine's daemon.json"
    return said


def sound(host: str) -> None:
    """Raises `Refused` for what is no address of an engine, or leads to one without protection."""
    scheme, sign, _ = host.partition("://")
    if not sign or scheme not in SCHEMES:
        raise Refused(f"DOCKER_HOST={host!r} is no address of an engine; {WANTED}")
    if scheme == "tcp":
        try:
            parts = urlsplit(host)
            named, port = parts.hostname, parts.port
        except ValueError:
            named, port = "", None
        if not named or port is None or "@" in host:
            raise Refused(f"DOCKER_HOST={host!r} names no machine and port; {WANTED}")


def without_tls(host: str) -> Refused:
    """For a `tcp://` address without certificates."""
    return Refused(
        f"the engine at {host} is asked for without TLS: who reaches its port is root there; set "
        "DOCKER_CERT_PATH to a folder with ca.pem, cert.pem and key.pem, or use ssh://"
    )
