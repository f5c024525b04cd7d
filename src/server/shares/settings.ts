/** The weights and limits of users and queues, as the file of `--shares` sets them. */
import { StudioError } from '../../common/errors.ts';
import type { QueueSettings, ShareLimits, SharesFile } from '../../config/schema/sharesFile.ts';
import { DEFAULT_QUEUE } from '../../protocol/shares.ts';

/** Whose share a batch uses. */
export interface Owner {
  /** Absent where the server has no queues. */
  readonly queue: string | undefined;
  /** Empty: whoever launches with a client token. */
  readonly user: string;
}

const NONE: ShareLimits = {};

export class ShareSettings {
  readonly #file: SharesFile;
  readonly #queues: ReadonlyMap<string, QueueSettings>;

  constructor(file: SharesFile) {
    this.#file = file;
    const queues = Object.entries(file.queues ?? {});
    // Batches that name no queue have one, too.
    if (queues.length > 0 && file.queues?.[DEFAULT_QUEUE] === undefined) queues.unshift([DEFAULT_QUEUE, {}]);
    this.#queues = new Map(queues);
  }

  /** Names of the queues; empty if users divide directly. */
  get queues(): string[] {
    return [...this.#queues.keys()];
  }

  /** Users that have a line. */
  get users(): string[] {
    return Object.keys(this.#file.users ?? {});
  }

  user(name: string): ShareLimits {
    const { users = {}, default: usual = NONE } = this.#file;
    return (Object.hasOwn(users, name) ? users[name] : undefined) ?? usual;
  }

  queue(name: string | undefined): QueueSettings {
    return (name === undefined ? undefined : this.#queues.get(name)) ?? NONE;
  }

  /** Returns the queue that a batch uses: one that is gone since it was launched counts as the default one. */
  queueOf(named: string | undefined): string | undefined {
    if (this.#queues.size === 0) return undefined;
    return named !== undefined && this.#queues.has(named) ? named : DEFAULT_QUEUE;
  }

  /** Throws if a new batch names a queue that does not exist, or that its user may not use. `user`: see `Owner`. */
  requireQueue(named: string | undefined, user: string | undefined): void {
    // Where nothing is divided by queues, as on most machines, files for servers that do run all the same.
    if (this.#queues.size === 0) return;
    if (named !== undefined && !this.#queues.has(named))
      throw new StudioError('config', `This server has no queue ${named}.`, {
        hint: `Set \`queue\` in the batch file to one of: ${this.queues.join(', ')}.`,
      });
    const queue = this.queueOf(named);
    const { users } = this.queue(queue);
    // Client tokens see and change everything, so they may use every queue.
    if (users === undefined || user === undefined || users.includes(user)) return;
    const open = this.queues.filter((name) => this.queue(name).users?.includes(user) !== false);
    throw new StudioError('forbidden', `${user} may not use the queue ${queue ?? ''}.`, {
      hint:
        open.length === 0
          ? 'Ask an administrator of the server.'
          : `Set \`queue\` in the batch file to one of: ${open.join(', ')}.`,
    });
  }
}
