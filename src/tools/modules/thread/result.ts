/** Encodes the result of a tool as text (in the thread). */

import type { Reply } from '../../sdk.ts';
import { KEPT_BYTES } from '../limits.ts';

const REPLY = Symbol.for('rollout-studio.reply');

/** A value that JSON cannot represent. The message says which and where, for the author of the tool. */
export class ResultError extends Error {}

interface EncodedResult {
  readonly text: string;
  readonly form: 'text' | 'json';
  /** UTF-8 bytes of the full result, if `text` is cut. */
  readonly bytes?: number;
  readonly files?: { mime_type: string; content: string }[];
}

/** Throws ResultError. */
export function encodeResult(value: unknown): EncodedResult {
  if (isReply(value)) {
    const files = value.files.map((file) => ({
      mime_type: file.mime_type,
      content: typeof file.content === 'string' ? file.content : Buffer.from(file.content).toString('base64'),
    }));
    return { ...encodeValue(value.response), ...(files.length === 0 ? {} : { files }) };
  }
  return encodeValue(value);
}

function encodeValue(value: unknown): EncodedResult {
  if (typeof value === 'string') return bounded(value, 'text');
  return bounded(encodeJson(value, 'The tool returned'), 'json');
}

/** Encodes a value as JSON. `what` starts the error message, e.g. `The tool returned`. Throws ResultError. */
export function encodeJson(value: unknown, what: string): string {
  if (value === undefined) return 'null';
  try {
    return JSON.stringify(value, (key, member: unknown) => {
      switch (typeof member) {
        case 'function':
        case 'symbol':
        case 'bigint':
          throw new ResultError(
            `${what} a ${typeof member}${key === '' ? '' : ` (in "${key}")`}, which JSON cannot represent.`,
          );
        case 'object':
          if (member instanceof Map || member instanceof Set) {
            throw new ResultError(
              `${what} a ${member.constructor.name}${key === '' ? '' : ` (in "${key}")`}, which JSON cannot ` +
                'represent. Use a plain object or an array.',
            );
          }
          return member;
        default:
          return member;
      }
    });
  } catch (error) {
    if (error instanceof ResultError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    // V8's message describes the cycle.
    if (text.startsWith('Converting circular'))
      throw new ResultError(
        `${what} a value that contains itself, which JSON cannot represent. ${text.replaceAll('\n', ' ')}`,
      );
    throw new ResultError(`${what} a value that cannot be written as JSON: ${text}`);
  }
}

function bounded(text: string, form: 'text' | 'json'): EncodedResult {
  // A UTF-16 unit is at least a byte and at most three.
  if (text.length * 3 <= KEPT_BYTES) return { text, form };
  const bytes = Buffer.byteLength(text);
  if (bytes <= KEPT_BYTES) return { text, form };
  return { text: text.slice(0, Math.floor((text.length * KEPT_BYTES) / bytes)), form, bytes };
}

export function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null && REPLY in value;
}
