/**
 * Sends the groups of batches to their callbacks, in order, each until it was accepted. One server of a store does it;
 * what was accepted is in the store, so another one continues.
 */
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { redactor } from '../../common/redaction/redactor.ts';
import { outboundRequest } from '../../net/outboundRequest.ts';
import type { GroupSettings } from '../../protocol/groups.ts';
import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { Services } from '../services.ts';
import { callbackBody } from './callbackBody.ts';
import { groupText } from './content.ts';
import { nextGroups } from './nextGroups.ts';

const PAUSES_MS = [500, 2_000, 10_000, 60_000];
const TIMEOUT_MS = 60_000;
/** Of a group that is read from the store while it is sent. */
const LONG_TIMEOUT_MS = 600_000;
/** How soon another server continues when the one that sent them has ended. */
const ELECT_EVERY_MS = 5_000;
const WAIT_SECONDS = 300;

type Needed = Pick<Services, 'store' | 'changes' | 'endpoints'> & { readonly log: Log };

export class GroupCallbacks {
  readonly #services: Needed;
  readonly #running = new Set<string>();
  readonly #end = new AbortController();

  constructor(services: Needed) {
    this.#services = services;
  }

  /** Continues with what was not accepted before. */
  async start(): Promise<void> {
    for (const { batch, rev } of await this.#services.store.groupCallbacks()) this.#run(batch, rev);
  }

  /** Handles a new batch, and any change of one. */
  check({ row, spec }: BatchRecord): void {
    if (spec.group?.callback === undefined || this.#running.has(row.batch)) return;
    void this.start().catch((error: unknown) => this.#failed(row.batch, error));
  }

  close(): void {
    this.#end.abort();
  }

  #run(batch: string, rev: number): void {
    if (this.#running.has(batch) || this.#end.signal.aborted) return;
    this.#running.add(batch);
    this.#sendAll(batch, rev)
      .catch((error: unknown) => this.#failed(batch, error))
      .finally(() => this.#running.delete(batch));
  }

  async #sendAll(batch: string, from: number): Promise<void> {
    const { store } = this.#services;
    const { signal } = this.#end;
    let rev = from;
    while (!signal.aborted) {
      if (!(await store.elect('group callbacks'))) {
        await sleep(ELECT_EVERY_MS, signal);
        rev = (await store.groupCallbacks()).find((one) => one.batch === batch)?.rev ?? Infinity;
        if (rev === Infinity) return;
        continue;
      }
      const groups = await nextGroups(this.#services, batch, rev, { limit: 1, wait: WAIT_SECONDS, signal });
      const record = await store.batch(batch);
      const settings = record?.spec.group;
      if (record === undefined || settings?.callback === undefined) return;
      const [group] = groups;
      if (group === undefined) {
        if (record.row.state === 'ended') return;
        continue;
      }
      await this.#send(settings.callback, group, settings);
      if (this.#closed()) return;
      await store.callbackSent(batch, group.rev);
      ({ rev } = group);
    }
  }

  /** Sends a group until it is accepted. */
  async #send(url: string, group: FinishedGroupRecord, settings: GroupSettings): Promise<void> {
    const { store, endpoints, log } = this.#services;
    const { signal } = this.#end;
    const { batch } = group.row;
    const secrets = redactor([url]); // whoever knows it can post there
    for (let tries = 1; !signal.aborted; tries++) {
      let problem: string;
      try {
        const delivery = { ...settings, versionOf: await endpoints.versionsFor(batch) };
        const body = await callbackBody(groupText(store, group, delivery, signal));
        const timeoutMs = body.body instanceof Blob ? TIMEOUT_MS : LONG_TIMEOUT_MS;
        const response = await outboundRequest(url, {
          method: 'POST',
          body: body.body,
          redirects: true,
          headers: { 'content-type': 'application/json' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        });
        await response.drop();
        if (response.ok) return;
        problem = `status ${response.status}`;
      } catch (error) {
        if (this.#closed()) return;
        problem = secrets.text(errorText(error));
      }
      log(`callback of ${batch}, group ${group.row.group}, try ${tries}: ${problem}`, { level: 'warning', batch });
      await sleep(PAUSES_MS[tries - 1] ?? PAUSES_MS.at(-1) ?? 0, signal).catch(() => undefined);
      if ((await store.batch(batch)) === undefined) return; // it was removed
    }
  }

  #closed(): boolean {
    return this.#end.signal.aborted;
  }

  #failed(batch: string, error: unknown): void {
    if (this.#end.signal.aborted) return;
    this.#services.log(`the callback of ${batch} failed: ${errorText(error)}`, { level: 'error', batch });
  }
}
