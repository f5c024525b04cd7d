/**
 * How a demo endpoint behaves, set by its query (`demo:?latency_ms=50&slots=4`) or by the header `x-demo` with the same
 * text, which takes precedence. Everything random follows from the request's seed and how often that seed was seen, so
 * a repeated call may have another outcome, and a batch has the same outcomes in every run, in whatever order its calls
 * arrive.
 */
import { type ErrorRates, FAULTY, WORLD_ERRORS } from './policy/deskWorld/seededErrors.ts';
import { mix, Random } from './random.ts';

export interface Faults {
  /** Latency of a response once it has a slot; the median if it varies. */
  readonly latencyMs: number;
  /** `lognormal`: heavy-tailed, with `sigma`; at most 30 medians. */
  readonly tail: 'fixed' | 'lognormal';
  readonly sigma: number;
  /** Responses at once; other requests wait. Infinity = no limit. */
  readonly slots: number;
  /** Requests that may wait for a slot; further ones get 503. */
  readonly queue: number;
  /** Status → probability. Such responses need no slot. */
  readonly fail: readonly { readonly status: number; readonly p: number }[];
  /** Seconds in `Retry-After` of a 429; absent: no header. */
  readonly retryAfter: number | undefined;
  /** Probability that the connection breaks in the middle of a response. */
  readonly cut: number;
  /** Probability that a response violates the protocol: JSON that ends too soon. */
  readonly malformed: number;
  /** Chunks of a streamed response; short responses get more reasoning until they have that many. */
  readonly chunks: number | undefined;
  /** Length of the context in tokens. */
  readonly context: number;
  /** false: the endpoint rejects tools. */
  readonly tools: boolean;
  /** The API key that it requires. */
  readonly key: string | undefined;
  /** How often the model makes mistakes, as a multiple of what its temperature causes. */
  readonly mistakes: number;
  /** The errors of the world that the model plays; undefined: it is faithful. */
  readonly worldErrors: ErrorRates | undefined;
}

export const NO_FAULTS: Faults = {
  latencyMs: 0,
  tail: 'fixed',
  sigma: 1,
  slots: Infinity,
  queue: Infinity,
  fail: [],
  retryAfter: undefined,
  cut: 0,
  malformed: 0,
  chunks: undefined,
  context: 32_768,
  tools: true,
  key: undefined,
  mistakes: 1,
  worldErrors: undefined,
};

type Reader = (text: string) => Partial<Faults>;

const READERS: Readonly<Record<string, Reader>> = {
  latency_ms: (text) => ({ latencyMs: number(text, 0, 3_600_000) }),
  tail: (text) => ({ tail: oneOf(text, ['fixed', 'lognormal']) }),
  sigma: (text) => ({ sigma: number(text, 0, 5) }),
  slots: (text) => ({ slots: whole(text, 1) }),
  queue: (text) => ({ queue: whole(text, 0) }),
  fail: (text) => ({ fail: text.split(',').map(failure) }),
  retry_after: (text) => ({ retryAfter: number(text, 0, 3600) }),
  cut: (text) => ({ cut: number(text, 0, 1) }),
  malformed: (text) => ({ malformed: number(text, 0, 1) }),
  chunks: (text) => ({ chunks: whole(text, 1) }),
  context: (text) => ({ context: whole(text, 1) }),
  tools: (text) => ({ tools: oneOf(text, ['0', '1']) === '1' }),
  key: (text) => ({ key: text }),
  mistakes: (text) => ({ mistakes: number(text, 0, 100) }),
  world: (text) => ({ worldErrors: worldErrors(text) }),
};

/**
 * Parses a query without `?`. Throws a RangeError that names the setting and its valid values. Unknown settings are
 * errors, so that a typing mistake does not look like a healthy endpoint.
 */
export function parseFaults(query: string, over: Faults = NO_FAULTS): Faults {
  let faults = over;
  for (const [name, text] of new URLSearchParams(query)) {
    const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    if (read === undefined)
      throw new RangeError(`The demo model has no setting \`${name}\`; it has ${Object.keys(READERS).join(', ')}`);
    try {
      faults = { ...faults, ...read(text) };
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
      throw new RangeError(`The demo model's setting \`${name}\` takes ${thrown.message}, not \`${text}\``, {
        cause: thrown,
      });
    }
  }
  return faults;
}

function number(text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= min && value <= max)) throw new RangeError(`a number from ${min} to ${max}`);
  return value;
}

function whole(text: string, min: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < min)
    throw new RangeError(`a whole number of at least ${min}`);
  return value;
}

function oneOf<const T extends string>(text: string, values: readonly T[]): T {
  const value = values.find((allowed) => allowed === text);
  if (value === undefined) throw new RangeError(values.map((allowed) => `\`${allowed}\``).join(' or '));
  return value;
}

function failure(text: string): { status: number; p: number } {
  const [, status, p] = /^([45]\d\d):(\d*\.?\d+)$/.exec(text.trim()) ?? [];
  if (status === undefined || Number(p) > 1)
    throw new RangeError('statuses with probabilities like `429:0.1,503:0.05`');
  return { status: Number(status), p: Number(p) };
}

function worldErrors(text: string): ErrorRates | undefined {
  if (text === 'faithful') return undefined;
  if (text === 'faulty') return FAULTY;
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [, name, p] = /^(\w+):(\d*\.?\d+)$/.exec(part.trim()) ?? [];
      const kind = WORLD_ERRORS.find((known) => known === name);
      if (kind === undefined || Number(p) > 1)
        throw new RangeError(
          `\`faithful\`, \`faulty\`, or errors with probabilities like \`forgotten:0.5,fails:0.1\` ` +
            `(${WORLD_ERRORS.join(', ')})`,
        );
      return [kind, Number(p)];
    }),
  );
}

// ---- luck -------------------------------------------------------------------------------------------------------

/** The faults of one request. */
export interface Luck {
  readonly status: number | undefined;
  readonly latencyMs: number;
  /** Where the connection breaks, as a share of the answer. */
  readonly cutAt: number | undefined;
  readonly malformed: boolean;
}

/**
 * Returns the faults of a request. `nth`: how often this seed was seen before, from 0. Pure, so that a benchmark can
 * compute the ideal duration of a run.
 */
export function luckOf(faults: Faults, seed: number, nth: number): Luck {
  const random = new Random(mix(seed, nth, 0x1ac4));
  const dice = random.next();
  let below = 0;
  const failed = faults.fail.find(({ p }) => dice < (below += p));
  const factor = faults.tail === 'lognormal' ? Math.min(30, Math.exp(faults.sigma * random.normal())) : 1;
  return {
    status: failed?.status,
    latencyMs: faults.latencyMs * factor,
    cutAt: random.chance(faults.cut) ? 0.1 + 0.8 * random.next() : undefined,
    malformed: random.chance(faults.malformed),
  };
}
