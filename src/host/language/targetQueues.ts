/** Remembers the queues of the servers that this workspace used, by target, for the language server. */
import { z } from 'zod';
import type { Connection } from '../../client/connect.ts';
import { Emitter } from '../../common/emitter.ts';
import { type QueueInfo, queueInfo, type SharesReply } from '../../protocol/shares.ts';
import type { Memory } from '../launch/memory.ts';
import type { ServerLink } from '../services.ts';

const KEY = 'rollout.targetQueues';
const MAX_TARGETS = 50;
const TIMEOUT_MS = 10_000;

const stored = z.record(z.string(), z.array(queueInfo));

interface Ports {
  readonly server: Pick<ServerLink, 'target' | 'connection' | 'connected'>;
  readonly memory: Memory;
}

export class TargetQueues {
  readonly #ports: Ports;
  readonly #changed = new Emitter<undefined>();
  /** Fires when queues changed. */
  readonly changed = this.#changed.event;
  readonly #listener: { dispose(): void };
  #queues: Readonly<Record<string, QueueInfo[]>>;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#queues = stored.safeParse(ports.memory.get(KEY)).data ?? {};
    this.#listener = ports.server.connected((connection) => void this.#read(connection));
    // Never starts a server.
    ports.server.connection({ start: false }).then(
      (connection) => this.#read(connection),
      () => undefined,
    );
  }

  get value(): Readonly<Record<string, QueueInfo[]>> {
    return this.#queues;
  }

  dispose(): void {
    this.#listener.dispose();
  }

  async #read({ api }: Connection): Promise<void> {
    const { target } = this.#ports.server;
    // A server of an older version has no queues to tell, and one that is gone says so elsewhere.
    const shares = await api.shares(AbortSignal.timeout(TIMEOUT_MS)).catch(() => undefined);
    if (shares === undefined || target !== this.#ports.server.target) return;
    const queues = queuesOf(shares);
    if (JSON.stringify(this.#queues[target]) === JSON.stringify(queues)) return;
    const others = Object.entries(this.#queues).filter(([name]) => name !== target);
    this.#queues = Object.fromEntries([...others.slice(1 - MAX_TARGETS), [target, queues]]);
    await this.#ports.memory.update(KEY, this.#queues);
    this.#changed.fire(undefined);
  }
}

function queuesOf({ rows, queues }: SharesReply): QueueInfo[] {
  return queues.map((queue) => {
    const row = rows.find(({ kind, name }) => kind === 'queue' && name === queue);
    return queueInfo.parse({
      name: queue,
      weight: row?.weight ?? 1,
      rollouts: row?.rollouts.limit,
      pods: row?.pods.limit,
      tokens_per_hour: row?.tokens.limit,
    });
  });
}
