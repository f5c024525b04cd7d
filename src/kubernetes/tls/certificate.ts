/**
 * Creates the certificates of an installation: its own authority, and what that signs. Node.js can sign, but has no
 * writer for certificates (X.509 in DER), so the few fields are encoded here.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

const DAY_MS = 86_400_000;

/** Returns a time from yesterday, for clocks that are behind, to `days` from now. */
export function validFor(days: number, now = Date.now()): Validity {
  return { from: new Date(now - DAY_MS), until: new Date(now + days * DAY_MS) };
}

/** Creates an authority that signs itself. */
export function newAuthority(name: string, validity: Validity): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = nameOf(name);
  return signed(
    { subject, issuer: subject, publicKey, validity, extensions: [CONSTRAINTS_CA] },
    privateKey,
    privateKey,
  );
}

/** Creates a certificate for a server with these names and addresses. */
export function newCertificate(authority: Certificate, hosts: readonly string[], validity: Validity): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [extension(ALT_NAMES, der(0x30, ...hosts.map(altName))), CONSTRAINTS_NO_CA, SERVER_USE];
  const issuer = subjectOf(authority.cert);
  return signed(
    { subject: nameOf('Rollout Studio server'), issuer, publicKey, validity, extensions },
    privateKey,
    createPrivateKey(authority.key),
  );
}

/** What a certificate says; name, key, and extensions as `nameOf`, `createPublicKey`, and `extension` return them. */
interface Content {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

/** Creates a certificate. `own`: its key; `signer`: that of its issuer. */
export function signed(
  { subject, issuer, publicKey, validity, extensions }: Content,
  own: KeyObject,
  signer: KeyObject,
): Certificate {
  const algorithm = signer.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256;
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer,
    der(0x30, time(validity.from), time(validity.until)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, ...extensions)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, signer));
  return {
    cert: pem('CERTIFICATE', der(0x30, body, algorithm, signature)),
    key: own.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const COMMON_NAME = Buffer.from('0603550403', 'hex');
const ALT_NAMES = Buffer.from('0603551d11', 'hex');
const ECDSA_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex');
const RSA_SHA256 = Buffer.from('300d06092a864886f70d01010b0500', 'hex');
const CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const CONSTRAINTS_CA = extension(CONSTRAINTS, der(0x30, der(0x01, Buffer.from([0xff]))));
const CONSTRAINTS_NO_CA = extension(CONSTRAINTS, der(0x30));
/** Extended key usage: authentication of a server. */
const SERVER_USE = extension(Buffer.from('0603551d25', 'hex'), Buffer.from('300a06082b06010505070301', 'hex'));

/** Encodes a name that is only a common name. */
export function nameOf(text: string): Buffer {
  return der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from(text)))));
}

/** Returns the subject of a certificate as it is encoded: an authority may come from another program. */
export function subjectOf(cert: string): Buffer {
  const [body = Buffer.alloc(0)] = parts(content(new X509Certificate(cert).raw));
  const fields = parts(content(body));
  // An optional version comes first; then serial number, algorithm, issuer, validity, and subject.
  return fields[(fields[0]?.[0] === 0xa0 ? 1 : 0) + 4] ?? Buffer.alloc(0);
}

/** Encodes one DER value from other values or from bytes. */
export function der(tag: number, ...values: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(values);
  const { length } = bytes;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), bytes]);
}

/** Returns where the content of a DER value begins, and its length. */
function measure(value: Buffer): { readonly start: number; readonly length: number } {
  const first = value[1] ?? 0;
  if (first < 0x80) return { start: 2, length: first };
  const count = first & 0x7f;
  return { start: 2 + count, length: value.readUIntBE(2, count) };
}

function content(value: Buffer): Buffer {
  const { start, length } = measure(value);
  return value.subarray(start, start + length);
}

/** Splits the content of a DER value into its values. */
function parts(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let rest = bytes; rest.length > 1; ) {
    const { start, length } = measure(rest);
    found.push(rest.subarray(0, start + length));
    rest = rest.subarray(start + length);
  }
  return found;
}

function time(date: Date): Buffer {
  const text = date
    .toISOString()
    .replaceAll(/[-:T]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  return der(0x18, Buffer.from(text));
}

export function extension(id: Buffer, value: Buffer): Buffer {
  return der(0x30, id, der(0x04, value));
}

function altName(host: string): Buffer {
  if (isIPv4(host)) return der(0x87, Buffer.from(host.split('.').map(Number)));
  if (isIPv6(host)) return der(0x87, ipv6Bytes(host));
  return der(0x82, Buffer.from(host));
}

/** Returns the 16 bytes of an IPv6 address. */
function ipv6Bytes(host: string): Buffer {
  // A URL writes the address in hexadecimal groups only.
  const [head = '', tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
