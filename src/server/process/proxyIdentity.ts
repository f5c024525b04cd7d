/** Reads what proves that a proxy is the proxy from mounted files, and reads them again: Secrets are rotated. */
import { readFile } from 'node:fs/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { certificatesIn } from '../access/certificateChain.ts';
import { type IdentityHeaders, ProxyIdentity } from '../access/proxyIdentity.ts';

export interface ProxyIdentityFiles {
  readonly headers: IdentityHeaders;
  readonly proof:
    | { readonly kind: 'certificate'; readonly file: string; readonly names: readonly string[] }
    | { readonly kind: 'secret'; readonly file: string };
}

const POLL_MS = 30_000;
/** Shorter secrets could be guessed. */
const MIN_LENGTH = 32;

/** Throws StudioError `config` if a file cannot be used. */
export async function openProxyIdentity({ headers, proof }: ProxyIdentityFiles, log: Log): Promise<ProxyIdentity> {
  const check = proof.kind === 'secret' ? checkedSecret : checkedAuthority;
  let text = await read(proof.file, check);
  const watching = new Set<() => void>();
  const timer = setInterval(() => {
    read(proof.file, check).then(
      (found) => {
        if (found === text) return;
        text = found;
        log(`${proof.file} changed`);
        for (const changed of watching) changed();
      },
      (error: unknown) => log(`the previous content of ${proof.file} stays: ${errorText(error)}`, { level: 'warning' }),
    );
  }, POLL_MS);
  timer.unref();
  return new ProxyIdentity({
    headers,
    log,
    proof:
      proof.kind === 'secret'
        ? { kind: 'secret', secret: () => text }
        : { kind: 'certificate', authority: () => text, names: proof.names },
    watch: (changed) => {
      watching.add(changed);
      return () => watching.delete(changed);
    },
  });
}

async function read(file: string, check: (text: string, file: string) => string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StudioError('config', `Cannot read ${file}, by which the proxy proves itself.`, { cause });
  });
  return check(text, file);
}

function checkedSecret(text: string, file: string): string {
  const secret = text.trim();
  // Headers have no others.
  if (!/^[!-~]+$/.test(secret) || secret.length < MIN_LENGTH)
    throw new StudioError('config', `The secret in ${file} must have at least ${MIN_LENGTH} printable characters.`);
  return secret;
}

function checkedAuthority(text: string, file: string): string {
  if (certificatesIn(text).length === 0)
    throw new StudioError('config', `${file} contains no certificate of an authority.`);
  return text;
}
