/** Client certificates as a cluster issues them: the name of the user is CN, its groups are O. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import {
  type Certificate,
  der,
  extension,
  signed,
  subjectOf,
  type Validity,
  validFor,
} from '../../src/kubernetes/tls/certificate.ts';

const COMMON_NAME = Buffer.from('0603550403', 'hex');
const ORGANIZATION = Buffer.from('060355040a', 'hex');
/** Extended key usage: authentication of a client. */
const CLIENT_USE = extension(Buffer.from('0603551d25', 'hex'), der(0x30, Buffer.from('06082b06010505070302', 'hex')));

export function clientCertificate(
  authority: Certificate,
  user: string,
  groups: readonly string[] = [],
  validity: Validity = validFor(1),
): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const part = (id: Buffer, text: string): Buffer => der(0x31, der(0x30, id, der(0x0c, Buffer.from(text))));
  const subject = der(0x30, ...groups.map((group) => part(ORGANIZATION, group)), part(COMMON_NAME, user));
  return signed(
    { subject, issuer: subjectOf(authority.cert), publicKey, validity, extensions: [CLIENT_USE] },
    privateKey,
    createPrivateKey(authority.key),
  );
}
