/**
 * Lists and calls the tools of a file without a batch: in threads and processes like those of a worker, with a
 * temporary working directory. Nothing is recorded.
 */
import path from 'node:path';
import { diskFiles } from '../client/disk.ts';
import { submitPorts } from '../client/submitFile.ts';
import { workspaceRoot } from '../client/workspace.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { MODULE_ENDINGS } from '../config/load/tools.ts';
import { loadAgent } from '../config/load.ts';
import { problemsError } from '../config/source/problem.ts';
import type { SubmittedTools } from '../config/submission.ts';
import { buildTools } from '../config/submit.ts';
import type { NewEntry } from '../config/tools/mcp/addEntry.ts';
import { ownName } from '../config/tools/mcp/newEntry.ts';
import type { ToolHost, ToolSpec } from '../rollout/ports.ts';
import { bundleModule } from '../tools/bundle.ts';
import { openTools } from '../tools/hosts.ts';
import type { McpEntry } from '../tools/mcp/connection.ts';
import { NO_STATE } from '../tools/modules/thread/noState.ts';
import { hidingValues, type Values, withoutSecrets, withValues } from './toolValues.ts';
import {
  callAndClose,
  type ToolCall,
  type TriedCall,
  TryLog,
  withTryEnvironment,
  workspaceSandbox,
} from './tryEnvironment.ts';

/** The tools of one file. */
interface ToolFile {
  readonly file: string;
  /** Folder of its workspace. */
  readonly root: string;
  readonly entries: readonly SubmittedTools[];
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Default time limit. */
  readonly seconds: number;
}

interface ListedTools {
  readonly tools: readonly ToolSpec[];
  /** Entries that could not be opened, with reasons; the others are still listed. */
  readonly problems: readonly string[];
}

const TOOL_SECONDS = 120;
const SEED = 1;

/**
 * Reads a tool module or an agent file. Throws StudioError `config` for problems in the file, and `usage` for any other
 * kind of file.
 */
export async function readToolFile(file: string, cwd: string, env: NodeJS.ProcessEnv): Promise<ToolFile> {
  const full = path.resolve(cwd, file);
  const root = workspaceRoot(full, cwd);
  if (MODULE_ENDINGS.some((ending) => file.endsWith(ending))) {
    const bundle = await bundleModule(full, root);
    return {
      file,
      root,
      seconds: TOOL_SECONDS,
      blobs: new Map([
        [bundle.bundleSha, bundle.code],
        [bundle.mapSha, bundle.map],
      ]),
      entries: [{ kind: 'module', module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha } }],
    };
  }
  if (!/\.agent\.(ya?ml|json)$/.test(file))
    throw new StudioError('usage', `${file} is neither a tool module nor an agent file.`, {
      hint: 'Use a file that ends in .ts, .js, or .agent.yaml.',
    });
  const files = diskFiles(cwd);
  const { value, problems } = await loadAgent(files, full);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const { tools, blobs } = await buildTools(value, root, submitPorts(files, root, env, undefined));
  const kept = new Map<string, Uint8Array>();
  for await (const blob of blobs) if ('bytes' in blob) kept.set(blob.sha, blob.bytes);
  return { file, root, seconds: value.file.limits.tool_seconds, entries: tools, blobs: kept };
}

/** Returns the tools of a single MCP server, configured like an entry of an agent file in `folder`. */
export function serverTools(file: string, { mcp, name, tools }: NewEntry, folder: string): ToolFile {
  const server: McpEntry['server'] =
    'url' in mcp
      ? { url: mcp.url, headers: { ...mcp.headers } }
      : {
          command: mcp.command,
          args: [...(mcp.args ?? [])],
          env: { ...mcp.env },
          ...(mcp.cwd === undefined ? {} : { cwd: path.resolve(folder, mcp.cwd) }),
        };
  return {
    file,
    root: folder,
    seconds: TOOL_SECONDS,
    blobs: new Map(),
    entries: [
      {
        kind: 'mcp',
        name: name ?? ownName(mcp),
        shared: false,
        server,
        ...(tools === undefined ? {} : { tools: [...tools] }),
      },
    ],
  };
}

/** Lists every tool, with its schema. Connects to MCP servers. Throws like `withValues`. */
export function listTools(from: ToolFile, env: Values, signal: AbortSignal): Promise<ListedTools> {
  const entries = withValues(from.entries, env);
  return withoutSecrets(hidingValues(from.entries, env), () =>
    within(from, signal, async (open) => {
      const opened = await Promise.allSettled(entries.map((entry) => open([entry])));
      const tools = opened.flatMap((result) => (result.status === 'fulfilled' ? result.value.specs : []));
      const problems = opened.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
      return { tools, problems };
    }),
  );
}

/**
 * Calls one tool without a world. Throws StudioError `not_found` if the file has no such tool, or the error of an entry
 * that could not be opened.
 */
export function tryTool(
  from: ToolFile,
  call: ToolCall,
  env: Values,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<TriedCall> {
  const entries = withValues(from.entries, env);
  const secrets = hidingValues(from.entries, env);
  const log = new TryLog(onOutput, secrets);
  return withoutSecrets(secrets, () =>
    within(
      from,
      signal,
      async (open) => {
        const { host, spec } = await find(entries, call.tool, open, from.file);
        const result = await callAndClose(
          host,
          spec,
          { arguments: call.arguments, seed: SEED },
          from.seconds,
          log,
          signal,
        );
        return result.error?.message.startsWith(NO_STATE) === true ? { ...result, needs_world: true } : result;
      },
      log.print,
    ),
  );
}

type Open = (entries: readonly SubmittedTools[]) => Promise<ToolHost>;

function within<T>(
  { root, blobs }: ToolFile,
  signal: AbortSignal,
  run: (open: Open) => Promise<T>,
  print?: (text: string) => void,
): Promise<T> {
  const task = { id: 'try', question: '', meta: {} };
  const sandbox = workspaceSandbox(root);
  return withTryEnvironment(
    { blobs, task, sandbox, signal, ...(print === undefined ? {} : { print }) },
    (environment) => run((entries) => openTools(entries, environment)),
  );
}

/** Finds a tool. Opens MCP entries last, so that no server is started unnecessarily. */
async function find(
  entries: readonly SubmittedTools[],
  name: string,
  open: Open,
  file: string,
): Promise<{ host: ToolHost; spec: ToolSpec }> {
  const names: string[] = [];
  const failed: unknown[] = [];
  for (const entry of [...entries].sort((a, b) => Number(a.kind === 'mcp') - Number(b.kind === 'mcp'))) {
    if (entry.kind === 'mcp' && entry.tools !== undefined && !entry.tools.includes(name)) continue;
    try {
      const host = await open([entry]);
      const spec = host.specs.find((candidate) => candidate.name === name);
      if (spec !== undefined) return { host, spec };
      names.push(...host.specs.map((candidate) => candidate.name));
      await host.close();
    } catch (error) {
      failed.push(error);
    }
  }
  // The tool may belong to an entry that could not be opened.
  if (failed.length > 0) throw failed[0];
  throw new StudioError(
    'not_found',
    `${file} has no tool ${name}.`,
    names.length === 0 ? {} : { hint: `Available tools: ${names.join(', ')}.` },
  );
}
