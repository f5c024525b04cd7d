/** The authority of an installation, in a Secret: created once, kept by upgrades, used by the server alone. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { systemCodeOf } from '../../common/errors.ts';
import type { KubeObject } from '../access/objects.ts';
import { object } from '../install/manifests/object.ts';
import { AUTHORITY_KEYS, NAMES } from '../names.ts';
import { type Certificate, newAuthority, newCertificate, validFor } from './certificate.ts';

const AUTHORITY_DAYS = 3650;
/** Certificates of the server never leave its memory, so they can be short-lived. */
const CERTIFICATE_DAYS = 30;
const DAY_MS = 86_400_000;
export const [OWN_KEYS] = AUTHORITY_KEYS;
export const RENEW_MS = 7 * DAY_MS;

/** Returns a Secret with a new authority. */
export function newAuthoritySecret(namespace: string): KubeObject {
  const { cert, key } = newAuthority(`Rollout Studio in ${namespace}`, validFor(AUTHORITY_DAYS));
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  return object(
    'Secret',
    NAMES.authority,
    { namespace, component: 'server' },
    { type: 'Opaque', data: { [OWN_KEYS.cert]: encoded(cert), [OWN_KEYS.key]: encoded(key) } },
  );
}

/** Reads the authority in a mounted Secret; undefined if there is none, as in installations of older versions. */
export async function readAuthority(folder: string): Promise<Certificate | undefined> {
  for (const names of AUTHORITY_KEYS) {
    try {
      const [cert, key] = await Promise.all(
        [names.cert, names.key].map((name) => readFile(path.join(folder, name), 'utf8')),
      );
      if (cert !== undefined && key !== undefined) return { cert, key };
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

/** Returns a new certificate of the server for these names and addresses. */
export function serverCertificate(authority: Certificate, hosts: readonly string[]): Certificate {
  return newCertificate(authority, hosts, validFor(CERTIFICATE_DAYS));
}
