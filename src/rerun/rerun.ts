/**
 * Repeats a recorded tool call: with the same tool hosts as a worker, in a separate process, in the world as it was
 * before the call. Nothing is recorded.
 */
import { moduleNow } from '../client/moduleNow.ts';
import { StudioError } from '../common/errors.ts';
import { isSameJson, type Json } from '../common/json.ts';
import { mapWorlds, worldsIn } from '../config/submission/nested.ts';
import {
  modulesOf,
  realToolsIn,
  type Submission,
  type SubmittedModule,
  type SubmittedTools,
  type SubmittedWorld,
} from '../config/submission.ts';
import type { Api } from '../protocol/api.ts';
import type { ToolHost, ToolSpec, WorldSession } from '../rollout/ports.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { openTools } from '../tools/hosts.ts';
import type { Change, TraceError } from '../trace/schema.ts';
import { isUndone } from '../trace/undone.ts';
import { makeWorkDirectory } from '../worker/run/workDirectory.ts';
import { openWorld } from '../worlds/open.ts';
import { type CallOutcome, callOnce } from './callTool.ts';
import { tellObserved } from './observedCalls.ts';
import { askRecorded } from './recordedAnswers.ts';
import type { EarlierCall, RecordedCall } from './recordedCall.ts';
import { withTemporaryEnvironment } from './temporaryEnvironment.ts';
import { withoutSecrets } from './toolValues.ts';
import { TryLog } from './tryEnvironment.ts';

interface RerunOptions {
  /** Replaces the recorded arguments. */
  readonly arguments?: Json;
  /** `now`: uses the current files, if they still exist; `recorded`: uses the submitted modules. */
  readonly code: 'now' | 'recorded';
  readonly acceptIrreversible: boolean;
  /** Folder to search for files that have moved. */
  readonly folder: string;
}

interface Rerun {
  readonly status: 'ok' | 'error';
  readonly result?: Json;
  readonly error?: TraceError;
  readonly ms: number;
  readonly changes?: readonly Change[];
  /** Output of the call. */
  readonly log: string;
  /** Whether the result equals the recorded one; null with other arguments, or if the call was never made. */
  readonly same: boolean | null;
  readonly arguments: Json;
  /** Files whose code has changed since the rollout. */
  readonly changed: readonly string[];
  /** Notes on how the world was restored. */
  readonly notes: readonly string[];
}

/** A tool's schema and properties, for editing the call. */
interface CallForm {
  readonly parameters: ToolSpec['parameters'];
  readonly description: string;
  readonly effect: ToolSpec['effect'];
  /** Whether it is a tool of the world. */
  readonly of_world: boolean;
}

interface OpenedTool {
  readonly host: ToolHost;
  readonly spec: ToolSpec;
  readonly session: WorldSession | undefined;
  readonly changed: readonly string[];
}

/** Returns the form of a call. Throws like `rerun` if the tool is not available. */
export function callForm(
  api: Api,
  call: RecordedCall,
  options: Pick<RerunOptions, 'code' | 'folder'>,
  signal: AbortSignal,
): Promise<CallForm> {
  return withTemporaryEnvironment(
    (sha, blobSignal) => api.getBlob(sha, blobSignal),
    async (environment, work) => {
      const { host, spec, session } = await open(
        api,
        call,
        options,
        environment(work, { sandbox: call.submission.sandbox }),
        signal,
      );
      await host.close();
      return {
        parameters: spec.parameters,
        description: spec.description,
        effect: spec.effect,
        of_world: session !== undefined,
      };
    },
  );
}

/**
 * Repeats the call. Errors of the tool are results. Throws StudioError `conflict` if the world cannot be restored, and
 * with `details.irreversible` for an irreversible tool unless accepted, `config` if a module cannot be built, and
 * `not_found` if the tool is gone.
 */
export function rerun(api: Api, call: RecordedCall, options: RerunOptions, signal: AbortSignal): Promise<Rerun> {
  return withoutSecrets(call.secrets, () => rerunWith(api, call, options, signal));
}

function rerunWith(api: Api, call: RecordedCall, options: RerunOptions, signal: AbortSignal): Promise<Rerun> {
  return withTemporaryEnvironment(
    (sha, blobSignal) => api.getBlob(sha, blobSignal),
    async (environment, work) => {
      const log = new TryLog(() => undefined, call.secrets);
      const { print } = log;
      const directory = await makeWorkDirectory(work, call.task, (sha) => api.getBlob(sha, signal));
      const own = environment(directory, { onLog: print, sandbox: call.submission.sandbox });
      const { host, spec, session, changed } = await open(api, call, options, own, signal);
      if (spec.effect === 'irreversible' && !options.acceptIrreversible) {
        throw new StudioError('conflict', `${spec.name} may have irreversible effects.`, {
          hint: 'To call it anyway, use --accept-irreversible, or declare the tool pure or restorable.',
          details: { irreversible: [spec.name] },
        });
      }
      const notes = session === undefined ? [] : await replayCalls(session, call, signal);
      const args = options.arguments ?? call.arguments;
      const isRecorded = options.arguments === undefined || isSameJson(options.arguments, call.arguments);
      const startedAt = performance.now();
      const { status, result, error, changes } = await callOnce(
        host,
        spec,
        { ...call, arguments: args, ask: askRecorded(call.answers) },
        call.submission.agent.limits.tool_seconds,
        print,
        signal,
      );
      // The recorded result is redacted, too.
      const outcome: CallOutcome = call.secrets.json({
        status,
        ...(result === undefined ? {} : { result }),
        ...(error === undefined ? {} : { error }),
        ...(changes === undefined ? {} : { changes }),
      });
      const ms = performance.now() - startedAt;
      await host.close();
      log.end();
      return {
        ...outcome,
        ms,
        log: log.text,
        arguments: args,
        changed,
        notes: call.notMade === undefined ? notes : [...notes, notMadeNote(call.notMade)],
        same: isRecorded && call.notMade === undefined ? sameOutcome(call, outcome) : null,
      };
    },
  );
}

function notMadeNote(rule: string): string {
  return `In the rollout, the rule ${rule} answered, and the tool was never called.`;
}

/**
 * Restores the state before a call: tells a session whose state is what agents saw all that they saw, and repeats the
 * calls since the snapshot that have a state of their own. Returns notes on calls that could not be repeated.
 */
export async function replayCalls(
  session: WorldSession,
  call: Pick<RecordedCall, 'world' | 'observed' | 'submission'>,
  signal: AbortSignal,
): Promise<string[]> {
  const notes: string[] = [];
  const names = new Set(session.specs.map(({ name }) => name));
  const skipped: EarlierCall[] = [];
  tellObserved(session, call.observed ?? []);
  // It was told already what a repeated call returned.
  const repeating: ToolHost = {
    specs: session.specs,
    call: (one, context) => session.call(one, context),
    close: () => session.close(),
  };
  for (const earlier of call.world?.since ?? []) {
    const by = session.observed === undefined ? 'real' : (session.answeredBy?.(earlier.name) ?? 'simulated');
    if (!names.has(earlier.name) || earlier.effect === 'pure' || (by !== 'real' && by !== 'tool')) continue;
    if (earlier.effect === 'irreversible') skipped.push(earlier);
    if (earlier.effect === 'irreversible' || by === 'tool') continue;
    const spec = session.specs.find(({ name }) => name === earlier.name);
    if (spec === undefined) continue;
    const { error } = await callOnce(
      repeating,
      spec,
      {
        id: `again-${earlier.seq}`,
        arguments: earlier.arguments,
        seed: earlier.seed,
        ask: askRecorded(earlier.answers),
      },
      call.submission.agent.limits.tool_seconds,
      () => undefined,
      signal,
    );
    // The call happened in the rollout, so the world before it is no use, and its session may have ended.
    if (error !== undefined && isUndone(error.class))
      throw new StudioError(
        'conflict',
        `The world cannot be restored: repeating the earlier call ${earlier.name} @${earlier.seq} failed: ` +
          error.message,
        { hint: 'If its code has changed since the rollout, use the recorded code.' },
      );
  }
  if (skipped.length > 0)
    notes.push(
      'Earlier irreversible calls were not repeated: ' +
        `${skipped.map(({ name, seq }) => `${name} @${seq}`).join(', ')}. The world may differ.`,
    );
  return notes;
}

async function open(
  api: Api,
  call: RecordedCall,
  { code, folder }: Pick<RerunOptions, 'code' | 'folder'>,
  environment: ToolEnvironment & { readonly own: Map<string, Uint8Array> },
  signal: AbortSignal,
): Promise<OpenedTool> {
  const { submission } = call;
  const changed: string[] = [];
  const current = (module: SubmittedModule): Promise<SubmittedModule> =>
    code === 'recorded' ? Promise.resolve(module) : bundledNow(module, submission, folder, environment.own, changed);
  // MCP entries come last, so that no server is started for a tool that another entry has.
  for (const entry of [...submission.agent.tools].sort((a, b) => Number(a.kind === 'mcp') - Number(b.kind === 'mcp'))) {
    if (entry.kind === 'mcp' && entry.tools !== undefined && !entry.tools.includes(call.name)) continue;
    if (entry.kind === 'mcp' && submission.world !== undefined) continue; // after the world, see below
    const found = await openEntry(entry, call.name, current, environment);
    if (found !== undefined) return { ...found, session: undefined, changed };
  }
  if (submission.world !== undefined && call.world !== undefined) {
    const world = openWorld(await withModules(submission.world, current), environment);
    const { seed, snapshot } = call.world;
    const from = snapshot === undefined ? undefined : await api.getBlob(snapshot.sha, signal);
    const session = await world.open({ task: call.task, seed, ...(from === undefined ? {} : { from }) }, signal);
    const spec = session.specs.find(({ name }) => name === call.name);
    if (spec !== undefined) return { host: session, spec, session, changed };
    await session.close();
    for (const entry of submission.agent.tools) {
      const found = entry.kind === 'mcp' ? await openEntry(entry, call.name, current, environment) : undefined;
      if (found !== undefined) return { ...found, session: undefined, changed };
    }
  }
  throw new StudioError(
    'not_found',
    `The agent has no tool ${call.name}${code === 'now' ? ' in its current files' : ''}.`,
    { hint: 'If it was renamed or removed, use the recorded code.' },
  );
}

/** Replaces the modules of a world and of all that it contains. */
async function withModules(
  world: SubmittedWorld,
  current: (module: SubmittedModule) => Promise<SubmittedModule>,
): Promise<SubmittedWorld> {
  const modules = worldsIn(world).flatMap((each) => [
    ...(each.kind === 'module' ? [each.module] : []),
    ...realToolsIn(each).flatMap((entry) => (entry.kind === 'module' ? [entry.module] : [])),
  ]);
  const now = new Map(
    await Promise.all(modules.map(async (module) => [module.bundle, await current(module)] as const)),
  );
  const withCurrent = <T extends { readonly module: SubmittedModule }>(one: T): T => ({
    ...one,
    module: now.get(one.module.bundle) ?? one.module,
  });
  return mapWorlds(world, (each) => {
    if (each.kind === 'module') return withCurrent(each);
    if (each.kind !== 'simulated' || each.real_tools === undefined) return each;
    const tools = each.real_tools.map((entry) => (entry.kind === 'module' ? withCurrent(entry) : entry));
    return { ...each, real_tools: tools };
  });
}

async function bundledNow(
  module: SubmittedModule,
  submission: Submission,
  folder: string,
  own: Map<string, Uint8Array>,
  changed: string[],
): Promise<SubmittedModule> {
  const now = await moduleNow(module, modulesOf(submission), folder);
  for (const { sha, bytes } of now.blobs) own.set(sha, bytes);
  if (now.module.bundle !== module.bundle) changed.push(module.file);
  return now.module;
}

async function openEntry(
  entry: SubmittedTools,
  name: string,
  current: (module: SubmittedModule) => Promise<SubmittedModule>,
  environment: ToolEnvironment,
): Promise<{ host: ToolHost; spec: ToolSpec } | undefined> {
  const host = await openTools(
    [entry.kind === 'module' ? { ...entry, module: await current(entry.module) } : entry],
    environment,
  );
  const spec = host.specs.find((candidate) => candidate.name === name);
  if (spec !== undefined) return { host, spec };
  await host.close();
  return undefined;
}

function sameOutcome(call: RecordedCall, outcome: CallOutcome): boolean {
  if (call.error !== undefined || outcome.error !== undefined)
    return call.error?.class === outcome.error?.class && call.error?.message === outcome.error?.message;
  return call.result !== undefined && outcome.result !== undefined && isSameJson(call.result, outcome.result);
}
