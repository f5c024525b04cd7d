/** Reads the pods of batches whose item is expanded, again and again while the view is visible. */
import { BatchPodReader, type BatchPods } from '../../client/batchPods.ts';
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { ServerLink } from '../services.ts';

const POLL_MS = 3_000;

interface Ports {
  readonly server: Pick<ServerLink, 'connection'>;
  readonly log: { warn(text: string): void };
  /** Called when the pods of a batch have changed. */
  readonly changed: (batch: string) => void;
}

interface Entry {
  readonly reader: BatchPodReader;
  latest: BatchPods | undefined;
  expanded: boolean;
  stop: AbortController | undefined;
}

export class BatchPodList {
  readonly #ports: Ports;
  readonly #entries = new Map<string, Entry>();
  #isVisible = true;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  latest(batch: string): BatchPods | undefined {
    return this.#entries.get(batch)?.latest;
  }

  /** Returns the pods of a batch, and keeps them up to date from now on. */
  async of(batch: string): Promise<BatchPods> {
    let entry = this.#entries.get(batch);
    if (entry === undefined) {
      const reader = new BatchPodReader(async () => (await this.#ports.server.connection()).api, batch);
      this.#entries.set(batch, (entry = { reader, latest: undefined, expanded: true, stop: undefined }));
    }
    try {
      entry.latest ??= await entry.reader.read();
    } catch (error) {
      if (StudioError.is(error, 'not_found'))
        throw new StudioError('unsupported', 'This server is too old to show pods.', { hint: 'Upgrade it.' });
      throw error;
    }
    this.#update(batch, entry);
    return entry.latest;
  }

  setExpanded(batch: string, expanded: boolean): void {
    const entry = this.#entries.get(batch);
    if (entry === undefined) return;
    entry.expanded = expanded;
    this.#update(batch, entry);
  }

  setVisible(visible: boolean): void {
    this.#isVisible = visible;
    for (const [batch, entry] of this.#entries) this.#update(batch, entry);
  }

  forget(batch: string): void {
    this.#entries.get(batch)?.stop?.abort();
    this.#entries.delete(batch);
  }

  clear(): void {
    for (const batch of [...this.#entries.keys()]) this.forget(batch);
  }

  #update(batch: string, entry: Entry): void {
    if (!this.#isVisible || !entry.expanded) {
      entry.stop?.abort();
      entry.stop = undefined;
    } else if (entry.stop === undefined) {
      entry.stop = new AbortController();
      void this.#poll(batch, entry, entry.stop.signal);
    }
  }

  async #poll(batch: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted; // checked again after each wait
    while (!isOver()) {
      await sleep(POLL_MS, signal).catch(() => undefined);
      if (isOver()) return;
      try {
        const next = await entry.reader.read(signal);
        if (JSON.stringify(next) === JSON.stringify(entry.latest)) continue;
        entry.latest = next;
        this.#ports.changed(batch);
      } catch (error) {
        if (!isOver()) this.#ports.log.warn(`Batches view: cannot read the pods of ${batch}: ${errorText(error)}`);
      }
    }
  }
}
