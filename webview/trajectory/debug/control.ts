/** Sends commands to a rollout, and applies a form: as an edit where the rollout is held, or as a fork. */

import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Json } from '../../../src/common/json.ts';
import type { ForkEdit } from '../../../src/config/submission.ts';
import type { ForkReply } from '../../../src/protocol/client.ts';
import type { RolloutCommand } from '../../../src/protocol/commands.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';
import type { EditTarget } from './edits.ts';

const BY = 'page';

export class RolloutControl {
  readonly #data: TrajectoryData;

  constructor(data: TrajectoryData) {
    this.#data = data;
  }

  async send(verb: RolloutCommand['verb'], args?: Json): Promise<void> {
    await this.#data.api.commandRollout(this.#data.rollout, {
      command: newId('c'),
      verb,
      by: BY,
      ...(args === undefined ? {} : { args }),
    });
  }

  /** Applies the edits at the hold, and continues the rollout. */
  async apply({ kind }: EditTarget, edits: readonly ForkEdit[], text: string): Promise<void> {
    if (kind === 'skip') {
      await this.send('skip', { result: valueOf(text) });
      return; // Skipping continues the rollout.
    }
    if (kind === 'answer') {
      await this.send('answer', { value: valueOf(text) });
      return;
    }
    if (kind === 'inject')
      await this.send('inject', { message: { role: 'user', parts: [{ type: 'text', content: text }] } });
    for (const { of, path, value } of edits)
      await this.send('edit', { of: JSON.parse(JSON.stringify(of)) as Json, path, value }); // drops undefined members
    await this.send('release');
  }

  /**
   * Forks the rollout at the cut with a number of attempts. Returns the new batch, with warnings. Rejects with code
   * `conflict` and `details.irreversible` if irreversible calls may be repeated.
   */
  async fork(
    { cut }: EditTarget,
    edits: readonly ForkEdit[],
    attempts: number,
    acceptIrreversible: boolean,
  ): Promise<ForkReply> {
    return await this.#data.api.fork({
      batch: newId('b'),
      rollout: this.#data.rollout,
      seq: cut,
      attempts,
      by: BY,
      ...(edits.length === 0 ? {} : { edit: [...edits] }),
      ...(acceptIrreversible ? { accept_irreversible: true } : {}),
    });
  }
}

export function needsConsent(error: unknown): boolean {
  return StudioError.is(error, 'conflict') && error.details?.['irreversible'] !== undefined;
}

/** Parses JSON; other text is returned unchanged. */
function valueOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
