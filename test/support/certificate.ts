/** Test certificates: a private authority and what it signs. Created in code, so that no tool has to be installed. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** The subject: an IPv4 address or a name. */
  readonly host: string;
  readonly from?: Date;
  readonly until?: Date;
}

const DAY_MS = 86_400_000;

/** Creates a self-signed certificate, which is its own authority. */
export function selfSigned({
  host,
  from = new Date(Date.now() - DAY_MS),
  until = new Date(Date.now() + DAY_MS),
}: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from('Rollout test')))));
  const body = der(
    0x30,
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    name,
    der(0x30, time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        0x30,
        extension(ALT_NAMES, der(0x30, altName(host))),
        extension(CONSTRAINTS, der(0x30, der(0x01, Buffer.from([0xff])))),
      ),
    ),
  );
  return {
    cert: pem('CERTIFICATE', der(0x30, body, ECDSA_SHA256, bits(signed(body, privateKey)))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const COMMON_NAME = Buffer.from('0603550403', 'hex');
const ALT_NAMES = Buffer.from('0603551d11', 'hex');
const CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const ECDSA_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex');

function signed(body: Buffer, key: KeyObject): Buffer {
  return sign('sha256', body, key);
}

/** Encodes one DER value from other values or from bytes. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes);
}

function bits(bytes: Buffer): Buffer {
  return der(0x03, Buffer.from([0]), bytes);
}

function time(date: Date): Buffer {
  return der(
    0x18,
    Buffer.from(
      date
        .toISOString()
        .replaceAll(/[-:T]/g, '')
        .replace(/\.\d+Z$/, 'Z'),
    ),
  );
}

function extension(id: Buffer, value: Buffer): Buffer {
  return der(0x30, id, der(0x04, value));
}

function altName(host: string): Buffer {
  return /^\d+(\.\d+){3}$/.test(host)
    ? der(0x87, Buffer.from(host.split('.').map(Number)))
    : der(0x82, Buffer.from(host));
}

function pem(label: string, bytes: Buffer): string {
  return (
    `-----BEGIN ${label}-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ` +
    `${label}-----\n`
  );
}
