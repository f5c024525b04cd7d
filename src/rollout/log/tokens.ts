import type { BlobRef, Drift, TokenRecord } from '../../trace/schema.ts';
import { floatsToBase64 } from '../loop/base64.ts';
import type { ModelReply, PendingBlob } from '../ports.ts';
import type { Sha256 } from './messages.ts';

type SampledTokens = NonNullable<ModelReply['tokens']>;

interface WrittenTokens {
  readonly ref: BlobRef;
  readonly blob: PendingBlob;
  /** Set if the prompt does not begin with the prompt and completion of the call before. */
  readonly differs?: Drift;
}

interface Call {
  /** seq of its `model.start`. */
  readonly span: number;
  readonly prompt: readonly number[];
  readonly completion: readonly number[];
}

/**
 * Writes the token records of one agent's calls. Each prompt is stored as a difference from the previous call;
 * otherwise, the stored size would grow with the square of the steps.
 */
export class TokenChain {
  readonly #sha256: Sha256;
  readonly #read: (sha: string) => Promise<Uint8Array>;
  #last: Call | undefined;
  /** Recorded calls that were not read yet, by span. */
  readonly #recorded = new Map<number, BlobRef>();

  constructor(sha256: Sha256, read: (sha: string) => Promise<Uint8Array>) {
    this.#sha256 = sha256;
    this.#read = read;
  }

  /** Notes a call that the prefix answered. */
  recorded(span: number, tokens: BlobRef | undefined): void {
    if (tokens !== undefined) this.#recorded.set(span, tokens);
  }

  /** Reads the last recorded call, so that the next record is the same as in an uninterrupted run. */
  async ready(): Promise<void> {
    if (this.#recorded.size === 0) return;
    try {
      this.#last = await lastCall(this.#recorded, this.#read);
    } catch {
      this.#last = undefined; // unreadable: the next prompt is stored completely, which is also correct
    }
    this.#recorded.clear();
  }

  /** Returns the record of a call and the reference to it. */
  write(span: number, tokens: SampledTokens): WrittenTokens {
    const keep = this.#last === undefined ? 0 : sharedWith(this.#last, tokens.prompt);
    const differs = this.#last === undefined ? undefined : differenceAt(keep, this.#last, tokens.prompt);
    const record: TokenRecord = {
      prompt:
        this.#last === undefined || keep === 0
          ? { ids: [...tokens.prompt] }
          : { of: this.#last.span, keep, ids: tokens.prompt.slice(keep) },
      completion: [...tokens.completion],
      ...(tokens.logprobs === undefined ? {} : { logprobs: floatsToBase64(tokens.logprobs) }),
    };
    this.#last = { span, prompt: tokens.prompt, completion: tokens.completion };
    const bytes = new TextEncoder().encode(JSON.stringify(record));
    const sha = this.#sha256(bytes);
    const media = 'application/json';
    // Token IDs mean nothing to people, so the reference shows none of them.
    return {
      ref: { $blob: sha, bytes: bytes.length, media, head: '' },
      blob: { sha, bytes, media },
      ...(differs === undefined ? {} : { differs }),
    };
  }
}

/** Returns how many IDs at the start of `prompt` match the prompt and completion of the call. */
function sharedWith(call: Call, prompt: readonly number[]): number {
  const promptLength = call.prompt.length;
  const end = Math.min(promptLength + call.completion.length, prompt.length);
  let at = 0;
  while (at < end && prompt[at] === (at < promptLength ? call.prompt[at] : call.completion[at - promptLength])) at++;
  return at;
}

function differenceAt(at: number, { prompt, completion }: Call, next: readonly number[]): Drift | undefined {
  if (at === prompt.length + completion.length) return undefined;
  const was = at < prompt.length ? prompt[at] : completion[at - prompt.length];
  const is = next[at];
  return { at, ...(was === undefined ? {} : { was: { id: was } }), ...(is === undefined ? {} : { is: { id: is } }) };
}

async function lastCall(
  recorded: ReadonlyMap<number, BlobRef>,
  read: (sha: string) => Promise<Uint8Array>,
): Promise<Call | undefined> {
  const records = await Promise.all(
    [...recorded].map(async ([span, ref]) =>
      // `write` above wrote it, so its shape is certain.
      ({ span, record: JSON.parse(new TextDecoder().decode(await read(ref.$blob))) as TokenRecord }),
    ),
  );
  const calls = new Map<number, Call>();
  for (const { span, record } of records) {
    const { of, keep = 0, ids } = record.prompt;
    const base = of === undefined ? undefined : calls.get(of);
    if (of !== undefined && base === undefined)
      throw new Error(`the call ${of}, on which ${span} is based, is missing`);
    const shared = base === undefined ? [] : [...base.prompt, ...base.completion].slice(0, keep);
    calls.set(span, { span, prompt: [...shared, ...ids], completion: record.completion });
  }
  return [...calls.values()].at(-1);
}
