/** A program of the tool server, as its users in the worker see it. */
import { EventEmitter } from 'node:events';
import { finished, PassThrough, Writable } from 'node:stream';
import { deserialize, serialize } from 'node:v8';
import type { GroupProcess } from '../processes/groupProcess.ts';
import type { ProgramEvents, ProgramLink } from './client.ts';

export class RemoteProcess extends EventEmitter implements GroupProcess, ProgramEvents {
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly killGroup: () => void;
  readonly #link: ProgramLink;
  hasFailed = false;
  #exited = false;
  #closed = false;

  constructor(link: ProgramLink) {
    super();
    this.#link = link;
    this.killGroup = () => link.kill();
    this.stdin = new Writable({
      decodeStrings: true,
      write: (chunk: Buffer, _encoding, done) => link.write(0, chunk, done),
      final: (done) => {
        link.end(0);
        done();
      },
    });
  }

  get connected(): boolean {
    return !this.#exited;
  }

  send(message: object, callback: (error: Error | null) => void): boolean {
    let bytes: Buffer;
    try {
      bytes = serialize(message);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    this.#link.message(bytes);
    callback(null);
    return true;
  }

  spawned(): void {
    this.emit('spawn');
  }

  /** Output on pipe 1 or 2; no bytes: its end. */
  output(pipe: number, bytes: Buffer): void {
    const stream = pipe === 1 ? this.stdout : this.stderr;
    if (stream.destroyed || stream.writableEnded) return;
    if (bytes.length === 0) stream.end();
    else stream.write(bytes);
  }

  /** Throws if the bytes are no message. */
  received(bytes: Buffer): void {
    const message: unknown = deserialize(bytes);
    if (!this.#exited) this.emit('message', message);
  }

  exited(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#exited) return;
    this.#exited = true;
    this.stdin.destroy();
    this.emit('exit', code, signal);
  }

  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    let open = 2;
    for (const stream of [this.stdout, this.stderr]) {
      if (!stream.writableEnded) stream.end();
      // Its output may wait to be read.
      finished(stream, () => {
        open--;
        if (open === 0) this.emit('close', null, null);
      });
    }
  }

  /** It could not be started, or its server is gone. */
  failed(error: Error): void {
    if (this.#closed) return;
    this.hasFailed = true;
    if (!this.#exited) this.emit('error', error);
    this.exited(null, 'SIGKILL');
    this.closed();
  }
}
