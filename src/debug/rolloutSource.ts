/** Loads the rollouts of a debug session from a server, with their submissions. */
import { batchId, resolveRollout } from '../client/reference.ts';
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Json } from '../common/json.ts';
import { submission as submissionSchema } from '../config/submission.ts';
import type { DebuggerClaim } from '../protocol/client.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import { follow } from '../protocol/follow.ts';
import type { RolloutRow } from '../trace/summary.ts';
import { DebuggedRollout } from './debuggedRollout.ts';
import type { Debuggee } from './debuggee.ts';
import { openRollout, type ServerLink } from './rollout.ts';
import { ToolPlaces } from './sources/toolPlaces.ts';

/** The parts of a submission that a debugger needs. */
interface Definition {
  readonly places: ToolPlaces;
  readonly limits: Readonly<Record<string, number>>;
}

const UNKNOWN: Definition = { places: ToolPlaces.none(), limits: {} };

interface OpenOptions {
  /** Follow it, instead of only reading it. */
  readonly following: boolean;
  /** Whether this session launched it. */
  readonly own?: boolean;
  /** Prefix of its breakpoints that the server removes if the debugger is lost. Absent: another subscription has it. */
  readonly breakpoints?: string | undefined;
}

export class RolloutSource {
  readonly #link: ServerLink;
  readonly #folders: readonly string[];
  /** Who sends commands, for the recording. */
  readonly #by: string;
  /** Definitions by hash. */
  readonly #definitions = new Map<string, Promise<Definition>>();

  /** `folders`: where to look for moved files. */
  constructor(link: ServerLink, folders: readonly string[], by: string) {
    this.#link = link;
    this.#folders = folders;
    this.#by = by;
  }

  /** Opens a rollout. `onLost` gets the error if following it fails. */
  async open(
    id: string,
    { following, own = false, breakpoints }: OpenOptions,
    onLost: (error: unknown) => void,
    signal: AbortSignal,
  ): Promise<DebuggedRollout> {
    const by = this.#by;
    const claim = breakpoints === undefined ? undefined : this.#claim(breakpoints, own ? 'cancel' : 'release');
    const debuggee = await openRollout(this.#link, id, { follow: following, by, claim, onLost }, signal);
    const { places, limits } = await this.#definitionOf(debuggee, signal);
    return new DebuggedRollout(debuggee, places, limits, own);
  }

  /** Returns an attempt of the first task of a batch. */
  async firstTask(batch: string, attempt: number, signal: AbortSignal): Promise<string> {
    const row = (await this.#link.api.rollouts(batch, { limit: attempt }, signal)).rollouts.find(
      (candidate) => candidate.attempt === attempt,
    );
    if (row === undefined)
      throw new StudioError('not_found', `Batch ${batch} has no rollouts.`, {
        hint: 'Check its tasks: the dataset may be empty.',
      });
    return row.rollout;
  }

  /** Returns the rollout that settled an attempt, or else its newest. */
  async attempt(batch: string, task: string, attempt: number, signal: AbortSignal): Promise<string> {
    return resolveRollout(this.#link.api, { kind: 'attempt', batch, task, attempt, point: {} }, signal);
  }

  /** Returns the ID of a running batch. Throws `conflict` if it has ended. */
  async runningBatch(name: string, signal: AbortSignal): Promise<string> {
    const batch = await batchId(this.#link.api, name, signal, true);
    const row = await this.#link.api.batch(batch, signal);
    if (row.state === 'ended')
      throw new StudioError('conflict', `Batch ${row.name} has ended, so none of its rollouts can be held.`, {
        hint: 'Replay one of its rollouts.',
      });
    return batch;
  }

  /** Replaces the breakpoints of a batch whose IDs start with `prefix`. */
  async setBreakpoints(batch: string, prefix: string, breakpoints: readonly Breakpoint[]): Promise<void> {
    await this.#link.api.commandBatch(batch, {
      command: newId('c'),
      verb: 'breakpoints',
      by: this.#by,
      args: { breakpoints: JSON.parse(JSON.stringify(breakpoints)) as Json, of: prefix },
    }); // drops undefined members
  }

  /**
   * Reports every rollout of a batch that is held, until `signal` aborts. Rejects when the batch cannot be followed.
   * `breakpoints`: prefix of those of this session.
   */
  async followHeld(
    batch: string,
    breakpoints: string,
    onHeld: (rollout: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const rows = async (changed: readonly RolloutRow[]): Promise<void> => {
      for (const row of changed) if (row.state === 'held') await onHeld(row.rollout);
    };
    await follow(
      this.#link.openSocket,
      {
        stream: batch,
        reconnect: (stop) => this.#link.reconnect(stop),
        debugger: this.#claim(breakpoints, 'release'),
      },
      { rows },
      signal,
    );
  }

  #claim(breakpoints: string, end: DebuggerClaim['end']): DebuggerClaim {
    return { by: this.#by, breakpoints, end };
  }

  #definitionOf({ submission, batch }: Debuggee, signal: AbortSignal): Promise<Definition> {
    let definition = this.#definitions.get(submission);
    if (definition === undefined)
      this.#definitions.set(submission, (definition = this.#readDefinition(submission, batch, signal)));
    return definition;
  }

  async #readDefinition(sha: string, batch: string, signal: AbortSignal): Promise<Definition> {
    const { api } = this.#link;
    // Imported batches are recordings without a submission.
    if ((await api.batch(batch, signal)).imported) return UNKNOWN;
    const submission = submissionSchema.safeParse(
      JSON.parse(new TextDecoder().decode(await api.getBlob(sha, signal))),
    ).data;
    return submission === undefined
      ? UNKNOWN
      : { places: await ToolPlaces.read(submission, this.#folders), limits: submission.agent.limits };
  }
}
