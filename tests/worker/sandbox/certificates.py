"""A certificate authority and folders of ca.pem, cert.pem and key.pem, for tests of TLS."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class Authority:
    """One CA; `folder` hands out what one side of a connection needs."""

    name: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @staticmethod
    def made(name: str = "test authority") -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_name(name), _name(name), key.public_key())
        built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        built = built.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        built = built.add_extension(_usage(signing=True), critical=True)
        return Authority(name, key, built.sign(key, hashes.SHA256()))

    def folder(self, place: Path) -> Path:
        """A new folder with a certificate for 127.0.0.1 and localhost, for both directions."""
        place.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_name(place.name), _name(self.name), key.public_key())
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        built = built.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        built = built.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
            critical=False,
        )
        built = built.add_extension(_usage(signing=False), critical=True)
        made = built.sign(self.key, hashes.SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (place / "ca.pem").write_bytes(self.certificate.public_bytes(Encoding.PEM))
        (place / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
        (place / "key.pem").write_bytes(private)
        (place / "key.pem").chmod(0o600)
        return place


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
    )


def _usage(*, signing: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signing,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signing,
        crl_sign=signing,
        encipher_only=False,
        decipher_only=False,
    )
