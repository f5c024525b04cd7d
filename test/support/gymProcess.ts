/** `rollout gym` as a user runs it, and requests to it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { JsonObject } from '../../src/common/json.ts';
import type { Workspace } from './testWorkspace.ts';

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
}

const printedLine = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue('more lines follow');
      return z.NEVER;
    }
  })
  .pipe(z.object({ url: z.string(), batch: z.string() }));

/** A `rollout gym` in a process of its own. */
export class Gym {
  readonly process: ChildProcess;
  readonly url: string;
  readonly batch: string;
  readonly stderr: () => string;

  private constructor(process: ChildProcess, { url, batch }: { url: string; batch: string }, stderr: () => string) {
    this.process = process;
    this.url = url;
    this.batch = batch;
    this.stderr = stderr;
  }

  static async start(workspace: Workspace, file: string, ...args: string[]): Promise<Gym> {
    const child = workspace.bench.start(['gym', file, '--json', ...args], { cwd: workspace.path() });
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    let text = '';
    for await (const line of createInterface({ input: child.stdout! })) {
      text += line;
      const printed = printedLine.safeParse(text);
      if (printed.success) return new Gym(child, printed.data, () => stderr);
    }
    throw new Error(`rollout gym ended: ${text}${stderr}`);
  }

  async send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Reply> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.status, body: (await response.json()) as JsonObject };
  }

  run(row: JsonObject, signal?: AbortSignal): Promise<Reply> {
    return this.send('POST', '/run', row, signal);
  }

  /** Ends as by Ctrl-C. Returns its exit code. */
  async stop(): Promise<number | null> {
    const ended = once(this.process, 'close');
    this.process.kill('SIGINT');
    return ((await ended) as [number | null])[0];
  }
}

/** A row as NeMo Gym's client sends it. */
export function gymRow(task: string, indices: readonly number[] = [], more: JsonObject = {}): JsonObject {
  const [taskIndex, rolloutIndex] = indices;
  return {
    responses_create_params: { input: [{ role: 'user', content: 'see the task' }] },
    agent_ref: { type: 'responses_api_agents', name: 'studio' },
    task_id: task,
    ...(taskIndex === undefined ? {} : { _ng_task_index: taskIndex }),
    ...(rolloutIndex === undefined ? {} : { _ng_rollout_index: rolloutIndex }),
    ...more,
  };
}
