/** A small workspace for tests of the command line: agents on the demo model whose tasks name the tools to call. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect } from '../../src/client/connect.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench, type CommandResult } from './cli.ts';

export interface BatchText {
  /** The agent's `model`, as YAML. Default: the demo model. */
  readonly model?: string;
  /** Further lines of the agent file. */
  readonly agent?: string;
  readonly tools?: string;
  /** The user's message by task ID. */
  readonly tasks?: Readonly<Record<string, string>>;
  /** Further lines of the batch file. */
  readonly scorer?: string;
  readonly batch?: string;
}

export interface Report {
  readonly batch: string;
  readonly attempts: number;
  readonly passed: number;
  readonly failed: number;
  readonly infrastructure: number;
  readonly cancelled: number;
  readonly open: number;
  readonly unscored: number;
  readonly truncated: number;
  readonly incidents: readonly { readonly kind: string; readonly text: string }[];
}

/** A bench with a workspace in `work/`. */
export class WorkspaceBench extends Bench {
  get work(): string {
    return this.path('work');
  }

  write(file: string, text: string): string {
    const full = path.join(this.work, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  /** Writes `NAME.agent.yaml`, `NAME.jsonl`, and `NAME.batch.yaml`. Returns the batch file's name. */
  batch(
    name: string,
    {
      model = '{ endpoint: "demo:", name: demo }',
      agent = '',
      tools = '[{ builtin: [calculator] }]',
      tasks = { one: ADD },
      scorer = '{ kind: exact }',
      batch = '',
    }: BatchText,
  ): string {
    this.write(
      `${name}.agent.yaml`,
      `version: 1\nname: ${name}\nmodel: ${model}\nprompt: Do as you are told.\ntools: ${tools}\n${agent}`,
    );
    this.write(
      `${name}.jsonl`,
      Object.entries(tasks)
        .map(([id, question]) => JSON.stringify({ id, question, answer: '42' }))
        .join('\n'),
    );
    this.write(
      `${name}.batch.yaml`,
      `version: 1\nagent: ${name}.agent.yaml\ndataset: { file: ${name}.jsonl, question: question, answer: answer ` +
        `}\nscorer: ${scorer}\n${batch}${batch.includes('attempts:') ? '' : 'attempts: 1\n'}`,
    );
    return `${name}.batch.yaml`;
  }

  /** Runs `rollout …` in the workspace. */
  rollout(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
    return this.run(args, { cwd: this.work, env });
  }

  /** Runs a batch to its end. Returns its report, exit code, and standard error. */
  async runBatch(
    file: string,
    env: Record<string, string> = {},
  ): Promise<{ code: number | null; report: Report; stderr: string }> {
    const { code, stdout, stderr } = await this.rollout(['run', file, '--json'], env);
    return { code, stderr, report: parseDocument<Report>(stdout, stderr) };
  }

  /** All rows of a batch: the newest try of each attempt. */
  async rows(batch: string): Promise<RolloutRow[]> {
    const { stdout, stderr } = await this.rollout(['show', batch, '--json']);
    return parseDocument<{ rollouts: RolloutRow[] }>(stdout, stderr).rollouts;
  }

  /** The events of a rollout as stored: long values are in blobs. */
  async events(rollout: string): Promise<TraceEvent[]> {
    const { api } = await connect({ store: this.store });
    return (await Array.fromAsync(api.allEvents(rollout))).flat();
  }
}

/** A task that uses the calculator and passes. */
export const ADD = 'call calculate {"expression": "40 + 2"}\nanswer 42';

/** Parses stdout, which must be one JSON document. */
export function parseDocument<T>(stdout: string, stderr: string): T {
  try {
    return JSON.parse(stdout) as T;
  } catch (error) {
    throw new Error(`not one JSON document: ${stdout.slice(0, 500)}\n${stderr}`, { cause: error });
  }
}
