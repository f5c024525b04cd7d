/** Arguments and volumes of a server that a proxy tells who its users are. */

import { PROXY_SECRET_FILE } from '../../names.ts';
import { SECRET_MODE } from '../../security/podSecurity.ts';
import type { IdentityOptions } from './options.ts';

type Fields = Readonly<Record<string, unknown>>;

const FOLDER = '/rollout/identity';
const VOLUME = 'identity';
/** Key of the authority, as cert-manager writes it. */
const AUTHORITY = 'ca.crt';

export function identityArguments(identity: IdentityOptions | undefined): string[] {
  if (identity === undefined) return [];
  const { userHeader, groupsHeader, userPrefix, groupsPrefix, from } = identity;
  const fields = { user: userHeader, groups: groupsHeader, 'user-prefix': userPrefix, 'groups-prefix': groupsPrefix };
  const headers = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${value ?? ''}`);
  return [
    ...['--identity-headers', headers.join(',')],
    ...(from.kind === 'mtls'
      ? [...['--identity-ca', `${FOLDER}/${AUTHORITY}`], ...from.names.flatMap((name) => ['--identity-name', name])]
      : ['--identity-secret', `${FOLDER}/${PROXY_SECRET_FILE}`]),
  ];
}

/** The server gets the authority of the proxy's certificate only, not its key. */
export function identityVolumes(identity: IdentityOptions | undefined): Fields[] {
  if (identity === undefined) return [];
  const { kind, secret } = identity.from;
  const key = kind === 'mtls' ? AUTHORITY : PROXY_SECRET_FILE;
  return [{ name: VOLUME, secret: { secretName: secret, defaultMode: SECRET_MODE, items: [{ key, path: key }] } }];
}

export function identityMounts(identity: IdentityOptions | undefined): Fields[] {
  return identity === undefined ? [] : [{ name: VOLUME, mountPath: FOLDER, readOnly: true }];
}
