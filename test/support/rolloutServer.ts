/** A real rollout server in a separate process, run from source, on a store of the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../src/common/entries.ts';
import { sha256Hex } from '../../src/common/hash.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { type Submission, submissionSha } from '../../src/config/submission.ts';
import { Api } from '../../src/protocol/api.ts';
import { type ReadyLine, readyLine, type ServerFile, serverFile } from '../../src/protocol/serverFile.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import { FakeClient } from './fakeClient.ts';
import { FakeWorker } from './fakeWorker.ts';

const main = fileURLToPath(entryUrl('server'));

/** A folder for a store. */
export class TestStore {
  readonly folder: string = mkdtempSync(path.join(os.tmpdir(), 'rollout-server-'));
  readonly #servers: TestServer[] = [];

  /** Starts a server and waits for its first line. It starts no workers unless `args` say so. */
  async start(
    args: readonly string[] = ['--executor', 'none'],
    env: Readonly<Record<string, string>> = {},
    program?: string,
  ): Promise<TestServer> {
    return this.#started(new TestServer(this.folder, this.folder, args, env, program));
  }

  /** Starts a server of a PostgreSQL store as if on its own machine: it has its own user data folder. */
  async startOn(
    url: string,
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<TestServer> {
    const home = path.join(this.folder, String(this.#servers.length));
    mkdirSync(home);
    return this.#started(
      new TestServer(url, home, ['--executor', 'none', ...args], {
        ...env,
        XDG_DATA_HOME: home,
        LOCALAPPDATA: home,
        HOME: home,
      }),
    );
  }

  async #started(server: TestServer): Promise<TestServer> {
    this.#servers.push(server);
    await server.ready;
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class TestServer {
  readonly process: ChildProcess;
  readonly ready: Promise<ReadyLine>;
  readonly exited: Promise<number | null>;
  stderr = '';
  readonly #folder: string;
  readonly #sockets: { close(): void }[] = [];

  /** `folder` contains `server.json`, directly or in a subfolder. */
  constructor(
    store: string,
    folder: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program = main,
  ) {
    this.#folder = folder;
    const words = ['--disable-warning=ExperimentalWarning', program, '--store', store, ...args];
    this.process = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.exited = once(this.process, 'exit').then(([code]) => code as number | null);
    this.process.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    const lines = createInterface({ input: this.process.stdout! });
    this.ready = Promise.race([
      once(lines, 'line').then(([line]) => readyLine.parse(JSON.parse(line as string))),
      this.exited.then((code) => {
        throw new Error(`the server ended with ${String(code)} before it was ready\n${this.stderr}`);
      }),
    ]);
  }

  get file(): ServerFile {
    const [name] = globSync('**/server.json', { cwd: this.#folder });
    return serverFile.parse(JSON.parse(readFileSync(path.join(this.#folder, name ?? 'server.json'), 'utf8')));
  }

  get url(): string {
    return `http://127.0.0.1:${this.file.port}`;
  }

  get api(): Api {
    const { token } = this.file;
    const url = this.url;
    return new Api(fetchTransport(() => ({ url, token })));
  }

  /** Sends a request, with the full token by default. */
  fetch(pathname: string, init: RequestInit & { token?: string } = {}): Promise<Response> {
    const { token = this.file.token, ...rest } = init;
    return fetch(`${this.url}${pathname}`, {
      ...rest,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(rest.headers as Record<string, string> | undefined),
      },
    });
  }

  async workerToken(batch: string): Promise<string> {
    const response = await this.fetch(`/v1/batches/${batch}/worker_token`, { method: 'POST' });
    return ((await response.json()) as { token: string }).token;
  }

  /** A worker that has said hello. */
  async worker(batch: string, options: Parameters<typeof FakeWorker.connect>[2] = {}): Promise<FakeWorker> {
    const worker = await FakeWorker.connect(this.url, await this.workerToken(batch), options);
    this.#sockets.push(worker);
    return worker;
  }

  async client(token: string = this.file.token): Promise<FakeClient> {
    const client = await FakeClient.connect(this.url, token);
    this.#sockets.push(client);
    return client;
  }

  async submit(
    submission: Submission,
    tasks: readonly TaskRecord[],
    options: { batch?: string; open?: boolean; secrets?: Record<string, string> } = {},
  ): Promise<string> {
    return submitTo(this.api, submission, tasks, options);
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<number | null> {
    for (const socket of this.#sockets.splice(0)) socket.close();
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    return this.exited;
  }
}

/** Submits a batch. Returns its ID. */
export async function submitTo(
  api: Api,
  submission: Submission,
  tasks: readonly TaskRecord[],
  options: { batch?: string; open?: boolean; secrets?: Record<string, string> } = {},
): Promise<string> {
  const { batch = newId('b'), open = false, secrets = {} } = options;
  const sha = submissionSha(submission);
  await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
  await api.createBatch({ batch, submission: sha, open, tasks: [...tasks], secrets });
  return batch;
}

/** A submission without tools, on an endpoint that nobody calls. */
export function plainSubmission(changes: Partial<Submission> = {}): Submission {
  return {
    version: 1,
    name: 'plain',
    file: 'batches/plain.batch.yaml',
    agent: {
      name: 'desk',
      file: 'agents/desk.agent.yaml',
      model: {
        endpoints: ['http://127.0.0.1:9/v1'],
        name: 'demo',
        headers: {},
        sampling: {},
        capture: { token_ids: false, logprobs: false },
        endpoint_wait_seconds: 600,
      },
      prompt: { text: 'Be brief.' },
      tools: [],
      answer: { kind: 'last_message' },
      context: { reasoning: 'keep', tool_result_tokens: 8000, overflow: 'fail' },
      limits: { steps: 30, seconds: 900, tool_seconds: 120, tokens: 200_000 },
    },
    scorer: { kind: 'exact' },
    attempts: 2,
    seed: 7,
    stop: {},
    retry: { infrastructure: 1 },
    order: 'breadth',
    priority: 0,
    concurrency: 64,
    hold_limit_seconds: 3600,
    env: { names: [], shown: [] },
    product: 'test',
    ...changes,
  };
}

export function tasks(count: number): TaskRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `t${index + 1}`,
    question: `Question ${index + 1}?`,
    answer: String(index + 1),
    meta: {},
  }));
}

export function blobOf(text: string): { sha: string; bytes: Uint8Array } {
  const bytes = new TextEncoder().encode(text);
  return { sha: sha256Hex(bytes), bytes };
}
