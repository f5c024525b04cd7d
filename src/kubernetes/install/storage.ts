/**
 * Where the server in a cluster keeps its data: `pvc[:CLASS]`, `claim:NAME`, `hostPath:/FOLDER`, `emptyDir`,
 * `postgres:SECRET[/KEY]`.
 */
import { StudioError } from '../../common/errors.ts';

export type Storage =
  | { readonly kind: 'pvc'; readonly storageClass: string | undefined }
  /** A claim that exists, such as one with weights. */
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'hostPath'; readonly folder: string }
  | { readonly kind: 'emptyDir' }
  /** `key` of the Secret holds the address of the database. */
  | { readonly kind: 'postgres'; readonly secret: string; readonly key: string };

const NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** Parses the text of a storage; throws StudioError `usage` for any other text. */
export function parseStorage(text: string): Storage {
  const [kind = '', ...rest] = text.split(':');
  const value = rest.join(':');
  if (kind === 'pvc' && (value === '' || NAME.test(value)))
    return { kind, storageClass: value === '' ? undefined : value };
  if (kind === 'claim' && NAME.test(value)) return { kind, claim: value };
  if (kind === 'hostPath' && value.startsWith('/')) return { kind, folder: value };
  if (kind === 'emptyDir' && value === '') return { kind };
  if (kind === 'postgres') {
    const [secret = '', key = 'url'] = value.split('/');
    if (NAME.test(secret) && /^[\w.-]+$/.test(key)) return { kind, secret, key };
  }
  throw new StudioError(
    'usage',
    `“${text}” is not a storage. Expected pvc[:CLASS], claim:NAME, hostPath:/FOLDER, emptyDir, or ` +
      'postgres:SECRET[/KEY].',
  );
}
