/**
 * The client tokens of a server in a cluster: created once, kept by upgrades, read by clients with their own
 * kubeconfig.
 */
import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../access/objects.ts';
import { NAMES, TOKEN_KEYS } from '../names.ts';
import { object } from './manifests/object.ts';

const TOKEN_BYTES = 32;

/** Returns a Secret with new tokens. */
export function newTokens(namespace: string): KubeObject {
  const token = (): string => Buffer.from(randomBytes(TOKEN_BYTES).toString('hex')).toString('base64');
  return object(
    'Secret',
    NAMES.tokens,
    { namespace, component: 'server' },
    {
      type: 'Opaque',
      data: { [TOKEN_KEYS.full]: token(), [TOKEN_KEYS.read]: token() },
    },
  );
}
