import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './json.ts';

/** sha256 as 64 lower-case hex digits. Runs anywhere (no Node, no DOM), so browser and server agree. */
export function sha256Hex(data: string | Uint8Array): string {
  return bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data));
}

/** sha256 of the canonical JSON of a value. */
export function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/** The first 32 bits of sha256 over the canonical JSON of `parts`, as an unsigned integer (DESIGN section 4: seeds). */
export function seedOf(...parts: readonly (string | number)[]): number {
  return Number.parseInt(hashOf(parts).slice(0, 8), 16);
}
