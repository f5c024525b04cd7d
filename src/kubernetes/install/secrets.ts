/** The Secrets of an installation: created once, completed if they lost content, otherwise kept. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../access/cluster.ts';
import type { KubeObject } from '../access/objects.ts';
import { AUTHORITY_KEYS, isOurs, OTLP_HEADERS_KEY, TOKEN_KEYS } from '../names.ts';
import { newAuthoritySecret } from '../tls/authority.ts';
import type { InstallOptions } from './options.ts';
import { newTokens } from './tokens.ts';

/** Returns the Secrets that are created once and then kept. Others manage those that the options name. */
export function secretsOf({ tokensSecret, authoritySecret }: InstallOptions, namespace: string): KubeObject[] {
  return [
    ...(tokensSecret === undefined ? [newTokens(namespace)] : []),
    ...(authoritySecret === undefined ? [newAuthoritySecret(namespace)] : []),
  ];
}

/** Throws `not_found` if a Secret of others lacks what the server needs, without which its pod would wait for it. */
export async function requireSecrets(cluster: Cluster, options: InstallOptions, signal: AbortSignal): Promise<void> {
  const needed = [
    { name: options.tokensSecret, keys: [Object.values(TOKEN_KEYS)], what: 'the client tokens' },
    {
      name: options.authoritySecret,
      keys: AUTHORITY_KEYS.map(({ cert, key }) => [cert, key]),
      what: 'the certificate authority',
    },
    { name: options.otlpSecret, keys: [[OTLP_HEADERS_KEY]], what: 'the headers for the collector of traces' },
  ];
  for (const { name, keys, what } of needed) {
    if (name === undefined) continue;
    const secret = await cluster.get('Secret', name, { signal }).catch((error: unknown) => {
      if (StudioError.is(error, 'forbidden')) return 'unknown' as const;
      throw error;
    });
    if (secret === 'unknown') continue;
    if (keys.some((some) => some.every((key) => secret?.data?.[key] !== undefined))) continue;
    const expected = keys.map((some) => some.join(' and ')).join(', or ');
    throw new StudioError(
      'not_found',
      secret === undefined
        ? `The Secret ${name} with ${what} does not exist in namespace ${cluster.namespace}.`
        : `The Secret ${name} in namespace ${cluster.namespace} does not contain ${what}.`,
      { hint: `Create it with the ${keys.flat().length === 1 ? 'key' : 'keys'} ${expected}, and install again.` },
    );
  }
}

/** Returns whether a Secret has all keys that one of ours has. `wanted`: a new one. */
export function isComplete(found: KubeObject | undefined, wanted: KubeObject): boolean {
  const data = dataOf(found);
  return Object.keys(dataOf(wanted)).every((key) => (data[key] ?? '') !== '');
}

interface EnsuredSecret {
  readonly wanted: KubeObject;
  readonly before: KubeObject | undefined;
  readonly change: 'created' | 'changed' | 'same';
}

/** Creates the Secrets that do not exist, and fills those of ours that lack keys. */
export async function ensureSecrets(
  cluster: Cluster,
  options: InstallOptions,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal },
): Promise<EnsuredSecret[]> {
  const done: EnsuredSecret[] = [];
  for (const wanted of secretsOf(options, cluster.namespace)) {
    const { name } = wanted.metadata;
    let found: KubeObject | undefined = await cluster.get('Secret', name, { signal });
    if (found === undefined) {
      try {
        await cluster.create(wanted, { dryRun, signal });
        done.push({ wanted, before: undefined, change: 'created' });
        continue;
      } catch (error) {
        // Another installation was faster. Its tokens are as good.
        if (!StudioError.is(error, 'conflict')) throw error;
        found = await cluster.get('Secret', name, { signal });
      }
    }
    if (isComplete(found, wanted)) {
      done.push({ wanted, before: found, change: 'same' });
      continue;
    }
    if (found !== undefined && !isOurs(found)) {
      const keys = Object.keys(dataOf(wanted)).join(' and ');
      throw new StudioError(
        'conflict',
        `The Secret ${name} in namespace ${cluster.namespace} belongs to another program: it lacks the keys ${keys}.`,
        { hint: 'Use another namespace, or remove that Secret.' },
      );
    }
    if (!dryRun) await cluster.patch('Secret', name, { data: wanted['data'] }, { signal });
    done.push({ wanted, before: found, change: 'changed' });
  }
  return done;
}

function dataOf(secret: KubeObject | undefined): Readonly<Record<string, string>> {
  return secretData.parse(secret?.['data'] ?? {});
}

const secretData = z.record(z.string(), z.string());
