/** Decides what the token of a worker's session gives access to. */
import { StudioError } from '../../common/errors.ts';
import type { Store } from '../../store/store.ts';
import type { SessionIdentity } from '../access/tokens.ts';

export class SessionAccess {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Throws `unauthorized` when the session has ended, and `gone` when its batch has. */
  async check({ session, batch }: SessionIdentity): Promise<void> {
    const open = await this.#store.session(session);
    if (open === undefined || open.batch !== batch)
      throw new StudioError('unauthorized', 'The session of this worker has ended.', {
        hint: 'The worker must reconnect.',
      });
    if (open.batchEnded) throw new StudioError('gone', `Batch ${batch} has ended.`);
  }
}
