"""A certificate authority of the tests' own, and what it has signed: one certificate for servers and clients alike."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

DAY = datetime.timedelta(days=1)
_CRITICAL = (x509.BasicConstraints, x509.KeyUsage)
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files."""

    authority: Path
    certificate: Path
    key: Path


def certificates(folder: Path, addresses: Sequence[str] = ("127.0.0.1",), hosts: Sequence[str] = ()) -> Certificates:
    """New ones; the certificate is for servers at these addresses or hosts, and for clients."""
    signer = ec.generate_private_key(ec.SECP256R1())
    signed = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test authority")])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    names = x509.SubjectAlternativeName(
        [
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
            *(x509.DNSName(host) for host in hosts),
        ]
    )
    is_authority = (x509.BasicConstraints(ca=True, path_length=0), _SIGNS)
    authority = _certificate(issuer, issuer, signer, signer, is_authority)
    certificate = _certificate(subject, issuer, signed, signer, (names,))
    made = Certificates(folder / "ca.pem", folder / "client.pem", folder / "client.key")
    made.authority.write_bytes(authority.public_bytes(Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    made.key.write_bytes(signed.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extensions: Sequence[x509.ExtensionType],
) -> x509.Certificate:
    """With the identifiers of both keys, which Python asks for since 3.13."""
    now = datetime.datetime.now(datetime.UTC)
    keys = (
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
    )
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    for extension in (*keys, *extensions):
        builder = builder.add_extension(extension, critical=isinstance(extension, _CRITICAL))
    return builder.not_valid_before(now - DAY).not_valid_after(now + DAY).sign(signer, hashes.SHA256())
