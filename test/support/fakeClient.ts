/** A scripted subscribing client. */
import { once } from 'node:events';
import WebSocket from 'ws';
import { type ClientFrame, type ServerToClient, serverToClient } from '../../src/protocol/client.ts';
import { PROTOCOL } from '../../src/protocol/worker.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Frames } from './frames.ts';

export class FakeClient {
  readonly frames: Frames<ServerToClient>;
  welcome!: Extract<ServerToClient, { type: 'welcome' }>;

  private constructor(frames: Frames<ServerToClient>) {
    this.frames = frames;
  }

  static async connect(url: string, token: string): Promise<FakeClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/client`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const client = new FakeClient(new Frames(socket, (raw) => serverToClient.parse(raw)));
    await once(socket, 'open');
    client.send({ type: 'hello', protocol: PROTOCOL });
    client.welcome = await client.frames.next('welcome');
    return client;
  }

  send(frame: ClientFrame): void {
    this.frames.send(frame);
  }

  subscribe(sub: string, stream: string, after = 0, options: { after_rev?: number; deltas?: boolean } = {}): void {
    this.send({ type: 'subscribe', sub, stream, after, ...options });
  }

  /** Reads and acknowledges a rollout's events until a head at `cursor`. */
  async eventsUntil(sub: string, cursor: number): Promise<TraceEvent[]> {
    const events: TraceEvent[] = [];
    while ((events.at(-1)?.seq ?? 0) < cursor) {
      const frame = await this.frames.next('events', (next) => next.sub === sub);
      events.push(...frame.events);
      this.send({ type: 'seen', sub, cursor: frame.events.at(-1)!.seq });
    }
    return events;
  }

  close(): void {
    this.frames.socket.terminate();
  }
}
