/** A debugged rollout on a server: read once if it has ended, otherwise followed until it ends. */
import { Emitter } from '../common/emitter.ts';
import { newId } from '../common/ids.ts';
import type { Json } from '../common/json.ts';
import type { Api, RolloutInfo } from '../protocol/api.ts';
import type { DebuggerClaim } from '../protocol/client.ts';
import type { CommandReply, RolloutCommand } from '../protocol/commands.ts';
import { follow, type OpenSocket } from '../protocol/follow.ts';
import { TrajectoryModel } from '../trace/model.ts';
import type { BlobRef, TraceEvent } from '../trace/schema.ts';
import { Stops } from '../trace/stops.ts';
import { readEvent } from '../trace/upgrades.ts';
import type { Debuggee, Head, LiveControl, StopReason } from './debuggee.ts';

/** A connection to a server. */
export interface ServerLink {
  readonly api: Api;
  readonly openSocket: OpenSocket;
  /** Finds or starts the server again after it was lost. */
  reconnect(signal: AbortSignal): Promise<void>;
}

interface OpenOptions {
  /** false: read only the current state, even if it still runs. */
  readonly follow: boolean;
  /** Who sends commands, for the recording. */
  readonly by: string;
  /** What the server does if the connection is lost. */
  readonly claim?: DebuggerClaim | undefined;
  /** Called when following failed permanently. */
  readonly onLost: (error: unknown) => void;
}

/** Reads the recorded part of a rollout, then follows it. Rejects with `not_found`. */
export async function openRollout(
  link: ServerLink,
  rollout: string,
  options: OpenOptions,
  signal: AbortSignal,
): Promise<Debuggee> {
  const info = await link.api.rollout(rollout, signal);
  const opened = new OpenedRollout(link, info, options);
  await opened.read(signal);
  if (options.follow && info.row.state !== 'ended') opened.follow();
  return opened;
}

/** Maps reasons of holds to those of the debugger. */
const REASONS: Readonly<Record<string, StopReason>> = {
  breakpoint: 'breakpoint',
  step: 'step',
  pause: 'pause',
  input: 'input',
  lost_server: 'lost_server',
};

class OpenedRollout implements Debuggee {
  readonly model = new TrajectoryModel();
  readonly #link: ServerLink;
  readonly #info: RolloutInfo;
  readonly #options: OpenOptions;
  readonly #changed = new Emitter<undefined>();
  readonly #over = new AbortController();
  #following: Promise<void> | undefined;
  #live: LiveControl | undefined;

  constructor(link: ServerLink, info: RolloutInfo, options: OpenOptions) {
    this.#link = link;
    this.#info = info;
    this.#options = options;
  }

  get rollout(): string {
    return this.#info.row.rollout;
  }

  get batch(): string {
    return this.#info.row.batch;
  }

  get task(): RolloutInfo['task'] {
    return this.#info.task;
  }

  get attempt(): number {
    return this.#info.row.attempt;
  }

  get submission(): string {
    return this.#info.submission;
  }

  get live(): LiveControl | undefined {
    return this.model.end === undefined ? this.#live : undefined;
  }

  get onChange(): Debuggee['onChange'] {
    return this.#changed.event;
  }

  get head(): Head | undefined {
    const stops = Stops.of(this.model);
    const { end } = stops;
    const held = this.model.end === undefined ? this.model.holdsAt().at(-1) : undefined;
    if (held !== undefined) {
      const { why, side, breakpoint } = held.event.data;
      const place = stops.placeOf(held.seq);
      if (place === undefined) return undefined;
      return { reason: REASONS[why] ?? 'pause', place, side, ...(breakpoint === undefined ? {} : { breakpoint }) };
    }
    const standing = this.model.end !== undefined || this.#live === undefined;
    return standing && end !== undefined ? { reason: 'end', place: end, side: 'after' } : undefined;
  }

  async read(signal: AbortSignal): Promise<void> {
    for await (const page of this.#link.api.allEvents(this.rollout, signal)) this.#push(page);
  }

  follow(): void {
    this.#live = liveControl(this.#link.api, this.rollout, this.#options.by);
    const handlers = { events: (events: readonly TraceEvent[]): void => this.#push(events) };
    const reconnect = (signal: AbortSignal): Promise<void> => this.#link.reconnect(signal);
    const { claim } = this.#options;
    this.#following = follow(
      this.#link.openSocket,
      {
        stream: this.rollout,
        after: this.model.last,
        reconnect,
        ...(claim === undefined ? {} : { debugger: claim }),
      },
      handlers,
      this.#over.signal,
    ).catch((error: unknown) => {
      this.#live = undefined;
      this.#options.onLost(error);
      this.#changed.fire(undefined);
    });
  }

  readBlob(ref: BlobRef, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#link.api.getBlob(ref.$blob, signal);
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#following;
  }

  #push(events: readonly TraceEvent[]): void {
    this.model.push(events.map((event) => readEvent(event)));
    this.#changed.fire(undefined);
    // Nothing follows the end, so close the connection.
    if (this.model.end !== undefined) this.#over.abort();
  }
}

function liveControl(api: Api, rollout: string, by: string): LiveControl {
  const command = (verb: RolloutCommand['verb'], args?: Json): Promise<CommandReply> =>
    api.commandRollout(rollout, { command: newId('c'), verb, by, ...(args === undefined ? {} : { args }) });
  const send = async (verb: RolloutCommand['verb'], args?: Json): Promise<void> => {
    await command(verb, args);
  };
  return {
    hold: () => send('hold'),
    release: (how) => (how === 'into' ? send('step', { into: true }) : send(how === 'step' ? 'step' : 'release')),
    leave: () => send('release', { of: by }),
    stepInto: async () => (await command('step', { inspect: true })).inspector,
    // drops undefined members
    edit: ({ of, path, value }) => send('edit', { of: JSON.parse(JSON.stringify(of)) as Json, path, value }),
    inject: (message) => send('inject', { message: message as unknown as Json }), // parts are JSON
    skip: (result) => send('skip', { result }),
    answer: (value) => send('answer', { value }),
    cancel: () => send('cancel', { reason: 'Ended by the debugger.' }),
  };
}
