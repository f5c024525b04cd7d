import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { allowedEnvironment } from '../../src/common/environment.ts';
import type { JsonObject } from '../../src/common/json.ts';
import type { SandboxMode } from '../../src/config/schema/sandboxSection.ts';
import { DEFAULT_SANDBOX, type SubmittedModule } from '../../src/config/submission.ts';
import type { ToolCallContext, ToolHost, ToolOutcome } from '../../src/rollout/ports.ts';
import type { Bundle } from '../../src/tools/bundle.ts';
import { bundleModule } from '../../src/tools/bundle.ts';
import type { ToolEnvironment } from '../../src/tools/environment.ts';
import type { ToolPoolsOptions } from '../../src/tools/pools.ts';
import { createToolPools } from '../../src/tools/pools.ts';
import { newOwner } from '../../src/tools/processes/strays.ts';

export const FIXTURES = path.resolve(import.meta.dirname, '../fixtures/tools');

/** The environment of tools in a test; `close` ends all of it. */
export interface ToolBench {
  readonly environment: ToolEnvironment;
  readonly cwd: string;
  /** Process groups that are currently registered. */
  readonly groups: ReadonlySet<number>;
  readonly late: string[];
  /** Bundles a fixture and keeps its blobs. */
  module(file: string): Promise<SubmittedModule>;
  close(): Promise<void>;
}

/** Without a sandbox, tests can look at the processes that tools start. */
export async function toolBench({
  sandbox = 'off',
  ...options
}: Partial<ToolPoolsOptions> & { sandbox?: SandboxMode } = {}): Promise<ToolBench> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tools-'));
  const work = path.join(folder, 'rollouts');
  await mkdir(work);
  const cwd = await mkdtemp(path.join(work, 'work-'));
  const blobs = new Map<string, Uint8Array>();
  const groups = new Set<number>();
  const late: string[] = [];
  const pools = createToolPools({
    directory: path.join(folder, 'bundles'),
    work,
    env: allowedEnvironment(process.env),
    processGroups: { owner: newOwner(), add: (pid) => groups.add(pid), remove: (pid) => groups.delete(pid) },
    ...options,
  });
  const keep = (bundle: Bundle): SubmittedModule => {
    blobs.set(bundle.bundleSha, bundle.code);
    blobs.set(bundle.mapSha, bundle.map);
    return { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha };
  };
  return {
    environment: {
      cwd,
      pools,
      sandbox: { ...DEFAULT_SANDBOX, mode: sandbox },
      readBlob: (sha) => {
        const bytes = blobs.get(sha);
        return bytes === undefined ? Promise.reject(new Error(`no blob ${sha}`)) : Promise.resolve(bytes);
      },
      onLog: (stream, text) => {
        late.push(`${stream}: ${text}`);
      },
    },
    cwd,
    groups,
    late,
    module: async (file) => keep(await bundleModule(path.join(FIXTURES, file), FIXTURES)),
    close: async () => {
      await pools.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** A call's context that keeps what is reported to it. */
export interface CallRecord extends ToolCallContext {
  readonly logs: string[];
  progress: number;
}

export function callContext(signal: AbortSignal = new AbortController().signal): CallRecord {
  const record: CallRecord = {
    signal,
    seed: 7,
    logs: [],
    progress: 0,
    onLog: (stream, text) => {
      record.logs.push(`${stream}: ${text}`);
    },
    onProgress: () => {
      record.progress += 1;
    },
  };
  return record;
}

/** The answer of a tool that returns text. */
export async function callText(
  host: ToolHost,
  name: string,
  args: JsonObject = {},
  context?: ToolCallContext,
): Promise<string> {
  const { response } = await callTool(host, name, args, context);
  if (typeof response !== 'string') throw new Error(`${name} gave no text: ${JSON.stringify(response)}`);
  return response;
}

let calls = 0;
export function callTool(
  host: ToolHost,
  name: string,
  args: JsonObject = {},
  context: ToolCallContext = callContext(),
): Promise<ToolOutcome> {
  calls += 1;
  return host.call({ id: `call-${calls}`, name, arguments: args }, context);
}
