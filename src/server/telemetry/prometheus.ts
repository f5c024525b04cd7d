/** Writes the Prometheus text format (version 0.0.4). */

export const METRICS_MEDIA = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
  /** Suffix of the metric's name, for parts of a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

/** Collects metrics; each is written once, with all its samples. */
export class Exposition {
  readonly #lines: string[] = [];

  gauge(name: string, help: string, samples: number | readonly Sample[]): void {
    this.#write('gauge', name, help, typeof samples === 'number' ? [{ value: samples }] : samples);
  }

  /** `name` ends in `_total`. */
  counter(name: string, help: string, samples: number | readonly Sample[]): void {
    this.#write('counter', name, help, typeof samples === 'number' ? [{ value: samples }] : samples);
  }

  histogram(name: string, help: string, histogram: Histogram): void {
    this.#write('histogram', name, help, histogram.samples());
  }

  toString(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  #write(type: string, name: string, help: string, samples: readonly Sample[]): void {
    if (samples.length === 0) return;
    this.#lines.push(
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
    );
    for (const { value, labels = {}, suffix = '' } of samples)
      this.#lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
  }
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  );
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** A counter, optionally split by one label. */
export class Counter {
  readonly #label: string | undefined;
  readonly #values: Map<string, number>;

  /** `known`: label values that are written from the start, so that rates include the first increment. */
  constructor(label?: string, known: readonly string[] = []) {
    this.#label = label;
    this.#values = new Map((label === undefined ? [''] : known).map((value) => [value, 0]));
  }

  add(by = 1, value = ''): void {
    this.#values.set(value, (this.#values.get(value) ?? 0) + by);
  }

  samples(): Sample[] {
    const label = this.#label;
    return Array.from(this.#values, ([of, value]) => ({
      value,
      ...(label === undefined ? {} : { labels: { [label]: of } }),
    }));
  }
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** `bounds`: upper bounds of the buckets, ascending; +Inf is added. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? Infinity)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  samples(): Sample[] {
    let total = 0;
    const buckets = this.#counts.map((count, bucket): Sample => {
      total += count;
      return { suffix: '_bucket', labels: { le: numberText(this.#bounds[bucket] ?? Infinity) }, value: total };
    });
    return [...buckets, { suffix: '_sum', value: this.#sum }, { suffix: '_count', value: total }];
  }
}
