/**
 * Credentials from programs that a kubeconfig names, as kubectl gets them (client.authentication.k8s.io).
 *
 * `ExecAuth` of @kubernetes/client-node 2.0.1 is not used. Read in its source, and observed with programs of a test:
 * - It sends no KUBERNETES_EXEC_INFO, which says the version to answer with, and describes the cluster
 *   (`provideClusterInfo`). It ignores `interactiveMode`: a program that asks for a password waits for a pipe that
 *   nobody writes to.
 * - It cannot be cancelled, has no time limit, and leaves the program running.
 * - An answer without `status` becomes a TypeError; one of another version counts.
 * - Each connection runs the program again.
 * - On Windows it cannot start scripts (`.cmd`).
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { abortable } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { firstLine } from '../../common/text.ts';
import { programFile } from './programFile.ts';

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
const plugin = z.looseObject({
  apiVersion: z.string().default(VERSIONS[1]),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().default('') })).nullish(),
  installHint: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).optional(),
});
type Plugin = z.infer<typeof plugin>;

const answer = z.looseObject({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z.looseObject({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.string().nullish(),
  }),
});

export interface PluginCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Milliseconds since the epoch; undefined: it does not expire. */
  readonly until?: number;
}

export interface PluginCall {
  /** What the kubeconfig has under `exec`. */
  readonly exec: unknown;
  readonly cluster: ReturnType<KubeConfig['getCurrentCluster']>;
  readonly context: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Whether a person can answer at the terminal of this process. */
  readonly terminal?: boolean;
}

/** A program may open a browser and wait for a person. */
const TIMEOUT_MS = 120_000;
const KILL_MS = 2_000;
/** Sent before its end, a credential may arrive after it. */
const MARGIN_MS = 10_000;
const MAX_OUTPUT = 1 << 20;
/** Key of the extension of a cluster that is passed on. */
const EXTENSION = 'client.authentication.k8s.io/exec';

/** Runs and results, by what decides about them; programs are slow, and may ask a person. */
const results = new Map<string, PluginCredential>();
const runs = new Map<
  string,
  { readonly result: Promise<PluginCredential>; readonly end: AbortController; waiting: number }
>();

/**
 * Returns the credential of a plug-in; concurrent calls share a run. Throws StudioError `unauthorized`, `config`, or
 * `cancelled`, or the error with which the program could not start.
 */
export async function pluginCredential(call: PluginCall): Promise<PluginCredential> {
  const { signal } = call;
  signal?.throwIfAborted();
  const key = keyOf(call);
  const known = results.get(key);
  if (known !== undefined && (known.until ?? Infinity) > Date.now() + MARGIN_MS) return known;
  let run = runs.get(key);
  if (run === undefined) {
    const end = new AbortController();
    const result = start(call, end.signal).finally(() => runs.delete(key));
    run = { result, end, waiting: 0 };
    runs.set(key, run);
    result.then((found) => results.set(key, found)).catch(() => undefined);
  }
  run.waiting++;
  try {
    return await (signal === undefined ? run.result : abortable(run.result, signal));
  } finally {
    // Nobody needs its answer any more.
    if (--run.waiting === 0) run.end.abort();
  }
}

/** Forgets a credential that the cluster did not accept. */
export function forgetCredential(call: Pick<PluginCall, 'exec' | 'cluster'>): void {
  results.delete(keyOf(call));
}

function keyOf({ exec, cluster }: Pick<PluginCall, 'exec' | 'cluster'>): string {
  return JSON.stringify([exec, cluster]);
}

async function start(call: PluginCall, signal: AbortSignal): Promise<PluginCredential> {
  const parsed = plugin.safeParse(call.exec);
  if (!parsed.success)
    throw new StudioError(
      'config',
      `The kubeconfig does not say which program provides credentials for ${nameOf(call)}.`,
      {
        hint: 'Fetch the kubeconfig again.',
        cause: parsed.error,
      },
    );
  const exec = parsed.data;
  if (!VERSIONS.some((version) => version === exec.apiVersion))
    throw new StudioError(
      'config',
      `The kubeconfig asks the program ${exec.command} for credentials of the version ${exec.apiVersion}, which is ` +
        'not supported.',
      { hint: `Update the program and fetch the kubeconfig again. Supported: ${VERSIONS.join(', ')}.` },
    );
  const terminal = call.terminal ?? hasTerminal();
  const interactive = exec.interactiveMode !== 'Never' && terminal;
  if (exec.interactiveMode === 'Always' && !interactive) throw needsTerminal(exec, call);
  return parse(await output(exec, call, interactive, signal), exec, call);
}

function hasTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

function needsTerminal({ command }: Plugin, call: PluginCall): StudioError {
  return new StudioError(
    'unauthorized',
    `The program ${command}, which provides the credentials for ${nameOf(call)}, needs a terminal.`,
    {
      hint:
        `Log in with it in a terminal (kubectl get pods --context ${call.context}), and try again. If it asks each ` +
        'time, run rollout in that terminal.',
    },
  );
}

/** Runs the program and returns what it prints. */
async function output(exec: Plugin, call: PluginCall, interactive: boolean, signal: AbortSignal): Promise<string> {
  const { file, args, options } = await programFile(exec.command, exec.args ?? []);
  const ownGroup = !interactive && process.platform !== 'win32';
  const child = spawn(file, args, {
    ...options,
    detached: ownGroup,
    windowsHide: true,
    env: environment(exec, call, interactive),
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', interactive ? 'inherit' : 'pipe'],
  } satisfies SpawnOptions);
  const timeoutMs = call.timeoutMs ?? TIMEOUT_MS;
  let ended: 'timeout' | 'cancelled' | 'too much' | undefined;
  const end = (why: typeof ended): void => {
    ended ??= why;
    kill(child, ownGroup);
  };
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  const cancel = (): void => end('cancelled');
  signal.addEventListener('abort', cancel, { once: true });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (stdout.length > MAX_OUTPUT) end('too much');
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-MAX_OUTPUT)));
  try {
    const code = await new Promise<number | string | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status, killedBy) => resolve(status ?? killedBy));
      // What it started may keep its output open.
      child.once('exit', (status, killedBy) => setTimeout(() => resolve(status ?? killedBy), KILL_MS).unref());
    });
    if (ended === 'timeout') throw tooSlow(exec, call, timeoutMs, stderr);
    if (ended === 'cancelled') throw new StudioError('cancelled', 'Connecting was cancelled.');
    if (ended === 'too much' || code !== 0)
      throw new Error(
        lastLines(stderr) || (ended === undefined ? `it ended with ${String(code)}` : 'it printed too much'),
      );
    return stdout;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function tooSlow({ command }: Plugin, call: PluginCall, timeoutMs: number, stderr: string): StudioError {
  const said = lastLines(stderr);
  return new StudioError(
    'unauthorized',
    `The program ${command}, which provides the credentials for ${nameOf(call)}, did not answer within ` +
      `${String(Math.round(timeoutMs / 1000))} s${said === '' ? '' : `: ${said}`}.`,
    {
      hint:
        'It may wait for a login. Log in with it in a terminal (kubectl get pods --context ' +
        `${call.context}), and try again.`,
    },
  );
}

/** What plug-ins print at the end is usually why they failed. */
function lastLines(text: string): string {
  const lines = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  return firstLine(lines.slice(-3).join('; '), 500).replace(/[.\s]+$/, '');
}

function kill(child: ChildProcess, ownGroup: boolean): void {
  const send = (signal: NodeJS.Signals): void => {
    try {
      if (ownGroup && child.pid !== undefined) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // it has ended
    }
  };
  send('SIGTERM');
  const timer = setTimeout(() => send('SIGKILL'), KILL_MS);
  timer.unref();
  child.once('close', () => clearTimeout(timer));
}

function environment(exec: Plugin, { cluster }: PluginCall, interactive: boolean): NodeJS.ProcessEnv {
  // Programs of VS Code that it starts would run as plain Node.js.
  const { ELECTRON_RUN_AS_NODE: _, ...own } = process.env;
  return {
    ...own,
    ...Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
    KUBERNETES_EXEC_INFO: JSON.stringify({
      apiVersion: exec.apiVersion,
      kind: 'ExecCredential',
      spec: {
        interactive,
        ...(exec.provideClusterInfo === true && cluster !== null ? { cluster: describe(cluster) } : {}),
      },
    }),
  };
}

function describe(cluster: NonNullable<PluginCall['cluster']>): Readonly<Record<string, unknown>> {
  const { server, tlsServerName, skipTLSVerify, caData, proxyUrl } = cluster;
  const config: unknown = 'extension' in cluster ? cluster.extension : undefined;
  return {
    server,
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(caData === undefined ? {} : { 'certificate-authority-data': caData }),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
    ...(config === undefined ? {} : { config }),
  };
}

function parse(text: string, exec: Plugin, call: PluginCall): PluginCredential {
  const parsed = answer.safeParse(jsonOf(text.replace(/^\uFEFF/, '')));
  const invalid = (why: string): StudioError =>
    new StudioError(
      'unauthorized',
      `The program ${exec.command}, which provides the credentials for ${nameOf(call)}, ${why}.`,
      { hint: 'Update it, and check whether kubectl works with this context.' },
    );
  if (!parsed.success) throw invalid('printed no ExecCredential');
  const { apiVersion, status } = parsed.data;
  if (apiVersion !== exec.apiVersion) throw invalid(`answered with ${apiVersion}, not with ${exec.apiVersion}`);
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  if ((cert === undefined) !== (key === undefined))
    throw invalid('returned a certificate without a key, or a key alone');
  if ((token ?? '') === '' && cert === undefined) throw invalid('returned neither a token nor a certificate');
  const until =
    expirationTimestamp === undefined || expirationTimestamp === null ? undefined : Date.parse(expirationTimestamp);
  if (until !== undefined && Number.isNaN(until)) throw invalid('returned an invalid expiration');
  return {
    ...(token === undefined || token === '' ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(until === undefined ? {} : { until }),
  };
}

function nameOf({ context }: Pick<PluginCall, 'context'>): string {
  return context === '' ? 'this cluster' : context;
}

const withExtensions = z.looseObject({
  clusters: z.array(
    z.looseObject({
      name: z.string(),
      cluster: z.looseObject({
        extensions: z.array(z.looseObject({ name: z.string(), extension: z.unknown() })).nullish(),
      }),
    }),
  ),
});

/** Returns what a kubeconfig has for plug-ins about its clusters, by their names. The library drops it. */
export function pluginExtensions(text: string): ReadonlyMap<string, unknown> {
  if (!text.includes(EXTENSION)) return new Map();
  const clusters = withExtensions.safeParse(parseYaml(text)).data?.clusters ?? [];
  return new Map(
    clusters.flatMap(({ name, cluster }) => {
      const found = cluster.extensions?.find((each) => each.name === EXTENSION);
      return found === undefined ? [] : [[name, found.extension] as const];
    }),
  );
}

const detached = new WeakMap<KubeConfig, unknown>();

/** Takes the plug-in of the current user out of a kubeconfig, so that the library does not run it. */
export function detachPlugin(config: KubeConfig): void {
  const current = config.getCurrentUser();
  const exec: unknown = current?.exec;
  if (current === null || exec === undefined || exec === null) return;
  detached.set(config, exec);
  config.users = config.users.map((user) => (user.name === current.name ? withoutExec(user) : user));
}

/** Returns what `detachPlugin` took. */
export function pluginOf(config: KubeConfig): unknown {
  return detached.get(config);
}

function withoutExec<U extends { readonly exec?: unknown }>(user: U): U {
  const { exec: _, ...rest } = user;
  return rest as U;
}

/** Makes a relative path of a plug-in relative to its kubeconfig, as kubectl does. */
export function withAbsoluteCommand<U extends { readonly exec?: { command?: string } | undefined }>(
  user: U,
  folder: string,
): U {
  const command = user.exec?.command;
  if (user.exec === undefined || command === undefined || !/[\\/]/.test(command) || path.isAbsolute(command))
    return user;
  return { ...user, exec: { ...user.exec, command: path.join(folder, command) } };
}
