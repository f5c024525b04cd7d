/** Test certificates, from the product's own writer, so that no tool has to be installed. */
import {
  type Certificate,
  newAuthority,
  newCertificate,
  type Validity,
  validFor,
} from '../../src/kubernetes/tls/certificate.ts';

/** The certificate of a server, and that of the private authority that signed it. */
export interface ServerCertificate extends Certificate {
  /** PEM. */
  readonly ca: string;
}

/** `host`: an IP address or a name. */
export function certificateFor(host: string, validity: Validity = validFor(1)): ServerCertificate {
  const authority = newAuthority('Rollout test', validFor(1));
  return { ...newCertificate(authority, [host], validity), ca: authority.cert };
}

/** A certificate that was valid in the past. */
export function expiredCertificateFor(host: string): ServerCertificate {
  return certificateFor(host, { from: new Date('2020-01-01'), until: new Date('2020-02-01') });
}
