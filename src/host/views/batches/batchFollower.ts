/** Keeps the contents of opened batches up to date by live rows, while the view is seen and the batch has not ended. */
import { errorText } from '../../../common/errors.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { ServerLink } from '../../services.ts';
import type { BatchContents } from './batchContents.ts';

/** Rows come in bursts; the tree is drawn so often at most. */
const DRAW_MS = 500;

export interface FollowerPorts {
  readonly server: Pick<ServerLink, 'connection'>;
  readonly log: { warn(text: string): void };
  /** What was read of a batch. */
  readonly contents: (batch: string) => BatchContents | undefined;
  /** These tasks of a batch are to be drawn again. */
  readonly changed: (batch: string, tasks: ReadonlySet<string>) => void;
}

interface FollowedBatch {
  /** The row as it was when the contents were read, then moved on by what came. */
  rev: number;
  last: number;
  /** The revision of its end, as the list told it: from there on nothing changes. */
  end: number | undefined;
  wanted: boolean;
  stop: AbortController | undefined;
}

export class BatchFollower {
  readonly #ports: FollowerPorts;
  readonly #followed = new Map<string, FollowedBatch>();
  readonly #pending = new Map<string, Set<string>>();
  #seen = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: FollowerPorts) {
    this.#ports = ports;
  }

  /** Batches that are followed now. */
  get active(): readonly string[] {
    return [...this.#followed].flatMap(([batch, { stop }]) => (stop === undefined ? [] : [batch]));
  }

  /** The contents were read; `row` is from before that. */
  begin(row: BatchRow): void {
    this.#end(row.batch);
    this.#followed.set(row.batch, {
      rev: row.rev,
      last: row.last,
      end: row.state === 'ended' ? row.rev : undefined,
      wanted: true,
      stop: undefined,
    });
    this.#look(row.batch);
  }

  /** Whether the batch is opened in the tree. */
  wanted(batch: string, open: boolean): void {
    const followed = this.#followed.get(batch);
    if (followed === undefined) return;
    followed.wanted = open;
    this.#look(batch);
  }

  /** Whether the view is seen at all. */
  seen(seen: boolean): void {
    this.#seen = seen;
    for (const batch of this.#followed.keys()) this.#look(batch);
  }

  /** What the list says of a batch: one that was retried runs again. */
  state(row: BatchRow): void {
    const followed = this.#followed.get(row.batch);
    if (followed === undefined) return;
    followed.end = row.state === 'ended' ? row.rev : undefined;
    this.#look(row.batch);
  }

  endAll(): void {
    for (const batch of [...this.#followed.keys()]) this.#end(batch);
    this.#followed.clear();
    this.#pending.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #end(batch: string): void {
    const followed = this.#followed.get(batch);
    followed?.stop?.abort();
    if (followed !== undefined) followed.stop = undefined;
  }

  #look(batch: string): void {
    const followed = this.#followed.get(batch);
    if (followed === undefined) return;
    // Its last rows may still be on their way: an ended batch is followed until they have come.
    const over = followed.end !== undefined && followed.rev >= followed.end;
    const should = this.#seen && followed.wanted && !over;
    if (!should) this.#end(batch);
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
            if (tasks !== undefined) this.#draw(batch, tasks);
            this.#look(batch);
          },
        },
        stop.signal,
      );
    } catch (thrown) {
      if (!stop.signal.aborted) this.#ports.log.warn(`Batches view: ${batch} is not followed: ${errorText(thrown)}`);
    } finally {
      // The next word of the list, or the next look at the view, tries again.
      if (followed.stop === stop) followed.stop = undefined;
    }
  }

  #draw(batch: string, tasks: ReadonlySet<string>): void {
    const pending = this.#pending.get(batch) ?? new Set();
    for (const task of tasks) pending.add(task);
    this.#pending.set(batch, pending);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const drawn = [...this.#pending];
      this.#pending.clear();
      for (const [each, changed] of drawn) this.#ports.changed(each, changed);
    }, DRAW_MS);
  }
}
