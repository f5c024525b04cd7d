import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './json.ts';

type Hash = (algorithm: 'sha256', data: string | Uint8Array, encoding: 'hex') => string;

/** Node's own implementation, where there is one: several times as fast for short texts, of which seeds are made. */
const native = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => { hash?: Hash } | undefined } }
).process?.getBuiltinModule?.('node:crypto')?.hash;

/** Returns the SHA-256 hash as 64 lower-case hex digits. Needs neither Node nor DOM, so browser and server agree. */
export function sha256Hex(data: string | Uint8Array): string {
  if (native !== undefined) return native('sha256', data, 'hex');
  return bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data));
}

/** Returns the SHA-256 hash of the canonical JSON of a value. */
export function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/** Returns the first 32 bits of the SHA-256 hash of the canonical JSON of `parts` (the seeds of rollouts and calls). */
export function seedOf(...parts: readonly (string | number)[]): number {
  return Number.parseInt(hashOf(parts).slice(0, 8), 16);
}
