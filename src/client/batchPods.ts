/** The pods of a batch: those that exist, and what the batch recorded of those that are gone. */
import type { Api } from '../protocol/api.ts';
import type { PodList } from '../protocol/pods.ts';
import type { EventData, TraceEvent } from '../trace/schema.ts';

export interface GonePod {
  readonly name: string;
  readonly kind: 'pod' | 'process';
  readonly node?: string;
  /** What the batch recorded about it, oldest first. */
  readonly records: readonly PodRecord[];
}

export interface PodRecord {
  readonly at: number;
  readonly what: string;
  readonly text: string;
}

export interface BatchPods extends PodList {
  readonly gone: readonly GonePod[];
}

/** Records that are kept of each pod, the newest ones. */
const MAX_RECORDS = 20;

/** Reads the pods of a batch again and again, and its stream only once. */
export class BatchPodReader {
  readonly #api: () => Promise<Api>;
  readonly #batch: string;
  readonly #recorded = new Map<string, GonePod>();
  #after = 0;

  /** @param api Returns the API for each read, since the connection may have changed. */
  constructor(api: () => Promise<Api>, batch: string) {
    this.#api = api;
    this.#batch = batch;
  }

  /** Throws `not_found` with a server that is too old to show pods. */
  async read(signal?: AbortSignal): Promise<BatchPods> {
    const api = await this.#api();
    const list = await api.pods(this.#batch, signal);
    for (;;) {
      const page = await api.events(this.#batch, { after: this.#after }, signal);
      for (const event of page.events) this.#record(event);
      const last = page.events.at(-1)?.seq;
      if (last === undefined) break;
      this.#after = last;
      if (last >= page.last) break;
    }
    const existing = new Set(list.pods.map(({ name }) => name));
    return { ...list, gone: [...this.#recorded.values()].filter(({ name }) => !existing.has(name)) };
  }

  /** Returns what the batch recorded about a pod as of the last read. */
  recordsOf(pod: string): readonly PodRecord[] {
    return this.#recorded.get(pod)?.records ?? [];
  }

  #record(event: TraceEvent): void {
    if (event.kind !== 'infra') return;
    const name = nameOf(event.data);
    if (name === undefined) return;
    const before = this.#recorded.get(name);
    const node = event.data.node ?? before?.node;
    this.#recorded.set(name, {
      name,
      kind: event.data.pod === undefined ? 'process' : 'pod',
      ...(node === undefined ? {} : { node }),
      records: [...(before?.records ?? []), { at: event.at, what: event.data.what, text: event.data.text }].slice(
        -MAX_RECORDS,
      ),
    });
  }
}

/** What is about a pod, or about a worker process of this machine; what is about both is about the pod. */
function nameOf({ pod, worker }: EventData['infra']): string | undefined {
  return pod ?? worker;
}
