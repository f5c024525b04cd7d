/** Updates the contents of expanded batches with live rows, while the view is visible and the batch is running. */
import { errorText } from '../../../common/errors.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { ServerLink } from '../../services.ts';
import type { BatchContents } from './batchContents.ts';

/** Minimum interval between tree updates. */
const UPDATE_MS = 500;

interface FollowerPorts {
  readonly server: Pick<ServerLink, 'connection'>;
  readonly log: { warn(text: string): void };
  /** Returns the loaded contents of a batch. */
  readonly contents: (batch: string) => BatchContents | undefined;
  /** Called with the tasks of a batch to refresh. */
  readonly changed: (batch: string, tasks: ReadonlySet<string>) => void;
}

interface FollowedBatch {
  /** The batch row when its contents were loaded, then updated by live rows. */
  rev: number;
  last: number;
  /** Revision at the batch's end, after which nothing changes. */
  end: number | undefined;
  expanded: boolean;
  stop: AbortController | undefined;
}

export class BatchFollower {
  readonly #ports: FollowerPorts;
  readonly #followed = new Map<string, FollowedBatch>();
  readonly #pending = new Map<string, Set<string>>();
  #isVisible = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: FollowerPorts) {
    this.#ports = ports;
  }

  /** Batches that are being followed. */
  get active(): readonly string[] {
    return [...this.#followed].flatMap(([batch, { stop }]) => (stop === undefined ? [] : [batch]));
  }

  /** Starts following a batch after its contents were loaded. `row` is from before that. */
  start(row: BatchRow): void {
    this.#stop(row.batch);
    this.#followed.set(row.batch, {
      rev: row.rev,
      last: row.last,
      end: row.state === 'ended' ? row.rev : undefined,
      expanded: true,
      stop: undefined,
    });
    this.#update(row.batch);
  }

  /** Sets whether the batch is expanded in the tree. */
  setExpanded(batch: string, open: boolean): void {
    const followed = this.#followed.get(batch);
    if (followed === undefined) return;
    followed.expanded = open;
    this.#update(batch);
  }

  /** Sets whether the view is visible. */
  setVisible(visible: boolean): void {
    this.#isVisible = visible;
    for (const batch of this.#followed.keys()) this.#update(batch);
  }

  /** Updates a batch from the list, because a retried batch runs again. */
  updateRow(row: BatchRow): void {
    const followed = this.#followed.get(row.batch);
    if (followed === undefined) return;
    followed.end = row.state === 'ended' ? row.rev : undefined;
    this.#update(row.batch);
  }

  stopAll(): void {
    for (const batch of [...this.#followed.keys()]) this.#stop(batch);
    this.#followed.clear();
    this.#pending.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #stop(batch: string): void {
    const followed = this.#followed.get(batch);
    followed?.stop?.abort();
    if (followed !== undefined) followed.stop = undefined;
  }

  #update(batch: string): void {
    const followed = this.#followed.get(batch);
    if (followed === undefined) return;
    // Follow an ended batch until its last rows have arrived.
    const isDone = followed.end !== undefined && followed.rev >= followed.end;
    const shouldFollow = this.#isVisible && followed.expanded && !isDone;
    if (!shouldFollow) this.#stop(batch);
    else if (followed.stop === undefined) void this.#follow(batch, followed);
  }

  async #follow(batch: string, followed: FollowedBatch): Promise<void> {
    const stop = new AbortController();
    followed.stop = stop;
    try {
      const connection = await this.#ports.server.connection({ signal: stop.signal });
      const { subscribe } = await import('../../../client/subscribe.ts');
      await subscribe(
        connection,
        { stream: batch, after: followed.last, afterRev: followed.rev },
        {
          events: (events) => {
            followed.last = events.at(-1)?.seq ?? followed.last;
          },
          rows: (rows, rev) => {
            followed.rev = rev;
            const tasks = this.#ports.contents(batch)?.apply(rows);
            if (tasks !== undefined) this.#notifySoon(batch, tasks);
            this.#update(batch);
          },
        },
        stop.signal,
      );
    } catch (error) {
      if (!stop.signal.aborted) this.#ports.log.warn(`Batches view: cannot follow ${batch}: ${errorText(error)}`);
    } finally {
      // The next list update or showing the view retries.
      if (followed.stop === stop) followed.stop = undefined;
    }
  }

  #notifySoon(batch: string, tasks: ReadonlySet<string>): void {
    const pending = this.#pending.get(batch) ?? new Set();
    for (const task of tasks) pending.add(task);
    this.#pending.set(batch, pending);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const changes = [...this.#pending];
      this.#pending.clear();
      for (const [each, changed] of changes) this.#ports.changed(each, changed);
    }, UPDATE_MS);
  }
}
