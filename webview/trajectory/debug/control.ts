/** Sends commands to a rollout, and applies a form: as an edit where the rollout is held, or as a fork. */

import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Json } from '../../../src/common/json.ts';
import type { ForkEdit } from '../../../src/config/submission.ts';
import type { RolloutCommand } from '../../../src/protocol/commands.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';
import type { EditTarget } from './edits.ts';

const BY = 'page';

export class RolloutControl {
  readonly #data: TrajectoryData;

  constructor(data: TrajectoryData) {
    this.#data = data;
  }

  async tell(verb: RolloutCommand['verb'], args?: Json): Promise<void> {
    await this.#data.api.commandRollout(this.#data.rollout, {
      command: newId('c'),
      verb,
      by: BY,
      ...(args === undefined ? {} : { args }),
    });
  }

  /** Makes the edits where the rollout is held, and lets it go on. */
  async apply({ kind }: EditTarget, edits: readonly ForkEdit[], text: string): Promise<void> {
    if (kind === 'skip') {
      await this.tell('skip', { result: valueOf(text) });
      return; // it goes on by that
    }
    if (kind === 'answer') {
      await this.tell('answer', { value: valueOf(text) });
      return;
    }
    if (kind === 'inject')
      await this.tell('inject', { message: { role: 'user', parts: [{ type: 'text', content: text }] } });
    for (const { of, path, value } of edits)
      await this.tell('edit', { of: JSON.parse(JSON.stringify(of)) as Json, path, value }); // without absent members
    await this.tell('release');
  }

  /**
   * Forks the rollout at the cut with a number of attempts. Returns the new batch. Rejects with code `conflict` and
   * `details.irreversible` if irreversible calls may be repeated.
   */
  async fork(
    { cut }: EditTarget,
    edits: readonly ForkEdit[],
    attempts: number,
    acceptIrreversible: boolean,
  ): Promise<string> {
    const { batch } = await this.#data.api.fork({
      batch: newId('b'),
      rollout: this.#data.rollout,
      seq: cut,
      attempts,
      by: BY,
      ...(edits.length === 0 ? {} : { edit: [...edits] }),
      ...(acceptIrreversible ? { accept_irreversible: true } : {}),
    });
    return batch;
  }
}

export function needsConsent(error: unknown): boolean {
  return StudioError.is(error, 'conflict') && error.details?.['irreversible'] !== undefined;
}

/** JSON where it is some, else the text itself. */
function valueOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
