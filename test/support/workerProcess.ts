/** A real worker in a separate process, started by the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../src/common/entries.ts';
import type { WorkerConfig } from '../../src/worker/config.ts';
import type { TestServer } from './rolloutServer.ts';

const main = fileURLToPath(entryUrl('worker'));

export class TestWorker implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly folder: string;
  stderr = '';

  constructor(config: WorkerConfig, env: Readonly<Record<string, string>> = {}, program = main) {
    this.folder = config.work;
    this.process = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
      stdio: ['pipe', 'inherit', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.exited = once(this.process, 'exit').then(([code]) => code as number | null);
    this.process.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.process.stdin!.end(JSON.stringify(config));
  }

  /**
   * A worker for a batch of a server that was started without an executor; `store` contains the server's `server.json`.
   */
  static async start(
    store: { readonly folder: string },
    server: TestServer,
    batch: string,
    changes: Partial<WorkerConfig> = {},
    env: Readonly<Record<string, string>> = {},
    program = main,
  ): Promise<TestWorker> {
    const worker = changes.worker ?? `by-hand-${Math.random().toString(36).slice(2, 8)}`;
    return new TestWorker(
      {
        server: server.url,
        token: await server.workerToken(batch),
        batch,
        worker,
        slots: 8,
        work: path.join(store.folder, 'work', worker),
        discovery: path.join(store.folder, 'server.json'),
        ...changes,
      },
      env,
      program,
    );
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
