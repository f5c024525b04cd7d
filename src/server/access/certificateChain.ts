/** Finds out which of several authorities issued a client certificate: a TLS server trusts all of them alike. */
import { X509Certificate } from 'node:crypto';

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
/** Longer chains than any real one. */
const MAX_CHAIN = 8;

/** Returns the certificates in a text. What is no certificate is left out. */
export function certificatesIn(pem: string): X509Certificate[] {
  return (pem.match(PEM) ?? []).flatMap((text) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });
}

export function fingerprints(pem: string): ReadonlySet<string> {
  return new Set(certificatesIn(pem).map(({ fingerprint256 }) => fingerprint256));
}

/** Returns whether one of the authorities issued a certificate, directly or by intermediates that the peer sent. */
export function isIssuedBy(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  let at = certificate;
  for (let length = 0; length < MAX_CHAIN; length++) {
    const subject = at;
    if (authorities.some((authority) => isIssuer(authority, subject))) return true;
    const next = at.issuerCertificate;
    if (next === undefined || next.fingerprint256 === at.fingerprint256 || !isIssuer(next, at)) return false;
    at = next;
  }
  return false;
}

function isIssuer(authority: X509Certificate, subject: X509Certificate): boolean {
  return (
    authority.ca &&
    Date.parse(authority.validTo) > Date.now() &&
    subject.checkIssued(authority) &&
    subject.verify(authority.publicKey)
  );
}
