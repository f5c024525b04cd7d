import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './json.ts';

/** A SHA-256 hash to which more can be added. */
export interface RunningHash {
  /** Adds a text, as UTF-8. */
  update(text: string): void;
  clone(): RunningHash;
  /** Returns 64 lower-case hex digits. Nothing can be added afterwards. */
  hex(): string;
}

interface NativeHash {
  update(text: string, encoding: 'utf8'): void;
  copy(): NativeHash;
  digest(encoding: 'hex'): string;
}

interface NodeCrypto {
  readonly hash?: (algorithm: 'sha256', data: string | Uint8Array, encoding: 'hex') => string;
  readonly createHash: (algorithm: 'sha256') => NativeHash;
}

/** Node's own hashes, where there are some: several times as fast for the short texts of which seeds are made. */
const node = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => NodeCrypto | undefined } }
).process?.getBuiltinModule?.('node:crypto');

/** Returns the SHA-256 hash as 64 lower-case hex digits. Needs neither Node nor DOM, so browser and server agree. */
export function sha256Hex(data: string | Uint8Array): string {
  if (node?.hash !== undefined) return node.hash('sha256', data, 'hex');
  return bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data));
}

/** Starts a hash. */
export function runningHash(): RunningHash {
  return node === undefined ? portable(sha256.create()) : native(node.createHash('sha256'));
}

function native(hash: NativeHash): RunningHash {
  return {
    update: (text) => hash.update(text, 'utf8'),
    clone: () => native(hash.copy()),
    hex: () => hash.digest('hex'),
  };
}

function portable(hash: ReturnType<typeof sha256.create>): RunningHash {
  return {
    update: (text) => void hash.update(utf8ToBytes(text)),
    clone: () => portable(hash.clone()),
    hex: () => bytesToHex(hash.digest()),
  };
}

/** Returns the SHA-256 hash of the canonical JSON of a value. */
export function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/** Returns the first 32 bits of the SHA-256 hash of the canonical JSON of `parts` (the seeds of rollouts and calls). */
export function seedOf(...parts: readonly (string | number)[]): number {
  return Number.parseInt(hashOf(parts).slice(0, 8), 16);
}
