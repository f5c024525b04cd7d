import type { Json } from '../../common/json.ts';
import {
  isPlausibleExisting,
  isPlausibleRuntime,
  runtimeForm,
  type SeenValues,
  VALUE_CLASSES,
  type ValueClass,
  wordsOf,
} from './seen.ts';

/**
 * - differs: it must agree and does not.
 * - plausible: it is not equal, but has the form that can be expected.
 * - missing, additional: only the real response has it, or only the prediction.
 */
export type PlaceVerdict = 'differs' | 'plausible' | 'missing' | 'additional';

/** A place where a prediction differs. */
export interface DifferingPlace {
  /** JSON pointer (RFC 6901) into the real response, or the prediction for what is additional; `line 3` of a text. */
  readonly path: string;
  readonly class: 'status' | 'format' | 'keys' | ValueClass;
  readonly predicted?: Json;
  readonly real?: Json;
  readonly verdict: PlaceVerdict;
}

/** Maximum number of words of one form that are compared in a text. */
const MAX_WORDS = 100;
/** Maximum number of listed places. */
const MAX_PLACES = 200;

type Scalar = string | number | boolean | null;

/** Counts what agrees. */
export class Comparison {
  readonly seen: SeenValues;
  readonly places: DifferingPlace[] = [];
  more = 0;
  readonly #counts = { keys: newCount(), deterministic: newCount(), existing: newCount(), runtime: newCount() };
  #values = 0;
  #equal = 0;
  #differingFormats = false;

  constructor(seen: SeenValues) {
    this.seen = seen;
  }

  note(place: Omit<DifferingPlace, 'verdict'>, verdict: PlaceVerdict): void {
    if (this.places.length < MAX_PLACES) this.places.push({ ...place, verdict });
    else this.more++;
  }

  /** Counts members or items, and how many of them both have. */
  keys(of: number, agreeing: number): void {
    this.#counts.keys.of += of;
    this.#counts.keys.agreeing += agreeing;
  }

  /** One response is JSON and the other is not: no key agrees. */
  differingFormats(): void {
    this.#differingFormats = true;
  }

  count(valueClass: ValueClass, agrees: boolean, equal: boolean): void {
    const count = this.#counts[valueClass];
    count.of++;
    this.#values++;
    if (agrees) count.agreeing++;
    if (equal) this.#equal++;
  }

  /** Compares two values that are not both lists or both objects. */
  value(path: string, key: string, predicted: Json, real: Scalar): void {
    const valueClass = this.seen.classOf(key, real);
    const equal = predicted === real;
    const agrees =
      equal ||
      (valueClass === 'existing' && isPlausibleExisting(predicted, real)) ||
      (valueClass === 'runtime' && isPlausibleRuntime(key, predicted, real));
    this.count(valueClass, agrees, equal);
    if (equal) return;
    const isProse = valueClass === 'existing' && typeof predicted === 'string' && typeof real === 'string';
    const { differing } = isProse ? this.words(predicted, real) : { differing: undefined };
    this.note(
      { path, class: differing ?? valueClass, predicted, real },
      agrees && differing === undefined ? 'plausible' : 'differs',
    );
  }

  /**
   * Compares the words of two texts that are deterministic or made at run time; all others are free. Returns the class
   * of the first that does not agree, and of the first that only has the right form.
   */
  words(predicted: string, real: string): { readonly differing?: ValueClass; readonly plausible?: ValueClass } {
    const found: { differing?: ValueClass; plausible?: ValueClass } = {};
    const left = new Map<string, number>();
    /** Words made at run time, by form, in reverse order. */
    const runtime = new Map<string, string[]>();
    for (const word of wordsOf(predicted).reverse()) {
      left.set(word, (left.get(word) ?? 0) + 1);
      const form = runtimeForm('', word);
      if (form !== undefined) runtime.set(form, [...(runtime.get(form)?.slice(-MAX_WORDS) ?? []), word]);
    }
    for (const word of wordsOf(real)) {
      const wordClass = this.seen.classOfWord(word);
      if (wordClass === 'existing') continue;
      const times = left.get(word) ?? 0;
      if (times > 0) left.set(word, times - 1);
      const candidate = runtime.get(runtimeForm('', word) ?? '')?.pop();
      const isPlausible = wordClass === 'runtime' && candidate !== undefined && isPlausibleRuntime('', candidate, word);
      this.count(wordClass, times > 0 || isPlausible, times > 0);
      if (times > 0) continue;
      if (isPlausible) found.plausible ??= wordClass;
      else found.differing ??= wordClass;
    }
    return found;
  }

  /** Counts a value that the prediction lacks. */
  missing(key: string, real: Scalar): void {
    this.count(this.seen.classOf(key, real), false, false);
  }

  shares(): { readonly [P in 'keys' | ValueClass]?: number } {
    const shares: { [P in 'keys' | ValueClass]?: number } = {};
    for (const part of ['keys', ...VALUE_CLASSES] as const) {
      const { of, agreeing } = this.#counts[part];
      if (of > 0) shares[part] = agreeing / of;
    }
    return this.#differingFormats ? { ...shares, keys: 0 } : shares;
  }

  equal(): number | undefined {
    return this.#values === 0 ? undefined : this.#equal / this.#values;
  }
}

function newCount(): { of: number; agreeing: number } {
  return { of: 0, agreeing: 0 };
}
