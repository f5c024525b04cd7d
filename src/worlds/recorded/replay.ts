/** The world of a rollout that replays another one: it answers each call as it was answered in the recording. */

import { StudioError } from '../../common/errors.ts';
import type { SubmittedReplayWorld } from '../../config/submission.ts';
import type { ToolCall, ToolOutcome, ToolSpec, World, WorldSession } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { type RecordedCall, type Recording, recording } from '../../trace/replay.ts';
import { datasetId } from '../../trace/task.ts';

/** Opens the recording of each task. */
export function replayWorld(submitted: SubmittedReplayWorld, { readBlob }: Pick<ToolEnvironment, 'readBlob'>): World {
  return {
    name: submitted.name,
    kind: 'recorded',
    open: async ({ task }, signal) => {
      const replayed = submitted.recordings[datasetId(task)];
      if (replayed === undefined)
        throw new ClassedError('world_error', `The batch has no recording of the task ${task.id}.`);
      const read = parseRecording(await readBlob(replayed.recording, signal));
      return new ReplaySession(submitted.name, replayed.rollout, read);
    },
  };
}

/** Throws StudioError `version` for a recording of a newer version. */
export function parseRecording(bytes: Uint8Array): Recording {
  const parsed = recording.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  if (parsed.success) return parsed.data;
  throw new StudioError('version', `This recording cannot be replayed: ${parsed.error.issues[0]?.message ?? ''}`);
}

/** Calls are told apart by ID, so it does not matter in which order those of several agents arrive. */
class ReplaySession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  /** By ID, those that did not happen yet. */
  readonly #left: Map<string, RecordedCall[]>;
  readonly #rollout: string;

  constructor(world: string, rollout: string, { calls, tools }: Recording) {
    this.#rollout = rollout;
    this.#left = Map.groupBy(calls, ({ call }) => call);
    const effects = new Map(calls.map(({ name, effect }) => [name, effect]));
    const known = new Set(tools.map(({ name }) => name));
    const others = [...effects.keys()].filter((name) => !known.has(name));
    this.specs = [
      ...tools,
      ...others.map((name) => ({ name, description: 'Answers as recorded.', parameters: { type: 'object' } })),
    ].map(
      (tool): ToolSpec => ({
        ...tool,
        effect: effects.get(tool.name) ?? 'pure',
        sessionBound: false,
        from: { kind: 'world', name: world },
      }),
    );
  }

  call({ id, name }: ToolCall): Promise<ToolOutcome> {
    const recorded = this.#left.get(id)?.[0];
    if (recorded === undefined)
      return Promise.reject(
        new ClassedError('tool_error', `The recording has no call of ${name} with the ID ${id}, so nobody can answer.`),
      );
    const { seq, response, parts, error } = recorded;
    const place = { rollout: this.#rollout, seq };
    if (error !== undefined)
      return Promise.reject(new ClassedError(error.class, error.message, { recorded: { place, response } }));
    return Promise.resolve({
      response,
      ...(parts === undefined ? {} : { parts }),
      source: 'recorded',
      recorded: place,
    });
  }

  replays(id: string): 'answered' | 'refused' {
    return this.#left.get(id)?.[0]?.refused === true ? 'refused' : 'answered';
  }

  observed({ id }: ToolCall): void {
    const left = this.#left.get(id);
    // The last one stays: a call that is made again gets the same answer.
    if (left !== undefined && left.length > 1) left.shift();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
