import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants, readdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { connect } from '../../client/connect.ts';
import { diskFiles } from '../../client/disk.ts';
import { isReadOnlyStore } from '../../client/readOnlyStore.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { isPostgresUrl } from '../../common/postgres.ts';
import { PRODUCT } from '../../common/product.ts';
import { publicUrl, secretsInUrl } from '../../common/redaction/hidable.ts';
import { redactor } from '../../common/redaction/redactor.ts';
import { plural } from '../../common/text.ts';
import { bytes } from '../../common/units.ts';
import { envNamesIn } from '../../config/env.ts';
import { CHROMIUM, installHint } from '../../config/needs.ts';
import { isInstalled } from '../../config/submission/installed.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { findChromium } from '../../tools/chromium.ts';
import { pythonState } from '../../tools/python/setup.ts';
import { pythonEnvironment } from '../../tools/python/worldPython.ts';
import { filterProblem, type SandboxSupport, sandboxSupport } from '../../tools/sandbox/open.ts';
import type { Command } from '../command.ts';
import type { Context } from '../context.ts';

interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'wrong';
  readonly text: string;
  readonly hint?: string;
}

const MIN_NODE = [22, 19] as const;
const MIN_DISK = 1e9;
const REQUEST_TIMEOUT_MS = 5_000;
const run = promisify(execFile);

export const doctor: Command = {
  name: 'doctor',
  usage: '',
  text:
    'Checks what is installed and reachable: Node, store, server, Python, git, Chromium, and the model endpoints of ' +
    'the agents in this folder.',
  options: {},
  async run(context) {
    if (context.target !== undefined && context.target !== LOCAL)
      throw new StudioError('usage', 'rollout doctor checks only the local machine.', {
        hint: `Check a target with rollout target status ${context.target}.`,
      });
    const server = await runningServer(context);
    const findings = [
      node(),
      await storeFinding(context),
      serverFinding(server),
      ...(await Promise.all([
        program('python3', ['--version'], 'the code tool cannot run Python', 'Install Python 3.'),
        worldsFinding(),
        program('git', ['--version'], 'submissions do not record their commit', 'Install git.'),
      ])),
      chromiumFinding(findChromium()),
      sandboxFinding(await sandboxSupport(), await filterProblem()),
      ...(await endpoints(context)),
    ];
    const wrong = findings.some((finding) => finding.state === 'wrong');
    if (context.json) {
      context.printJson({ product: PRODUCT, findings, ...(server === undefined ? {} : { server }) });
      return wrong ? 1 : 0;
    }
    const mark = { ok: '✓', missing: '–', wrong: '✗' } as const;
    for (const finding of findings) {
      context.print(`${mark[finding.state]} ${finding.name.padEnd(10)} ${finding.text}`);
      if (finding.hint !== undefined) context.print(`             ${finding.hint}`);
    }
    return wrong ? 1 : 0;
  },
};

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
  return fits
    ? { name: 'node', state: 'ok', text: `${process.version}; ${PRODUCT}` }
    : {
        name: 'node',
        state: 'wrong',
        text: `${process.version} is too old`,
        hint: `Use Node ${MIN_NODE.join('.')} or newer.`,
      };
}

/** Returns the folder, or the nearest one above it that exists: a check creates nothing. */
function existingFolder(folder: string): string {
  const above = path.dirname(folder);
  return existsSync(folder) || above === folder ? folder : existingFolder(above);
}

async function storeFinding(context: Context): Promise<Finding> {
  if (isPostgresUrl(context.store)) return { name: 'store', state: 'ok', text: publicUrl(context.store) };
  if (isReadOnlyStore(context.store))
    return {
      name: 'store',
      state: 'wrong',
      text: `${context.store} is read-only: batches can be viewed, but not run`,
      hint: 'To run batches, use --store with a writable folder.',
    };
  try {
    const folder = existingFolder(context.store);
    await access(folder, constants.R_OK | constants.W_OK);
    const disk = await statfs(folder);
    const free = disk.bavail * disk.bsize;
    return free < MIN_DISK
      ? {
          name: 'store',
          state: 'wrong',
          text: `${context.store}: only ${bytes(free)} free`,
          hint: 'Free up space, or remove old batches with rollout gc --older-than 30d.',
        }
      : { name: 'store', state: 'ok', text: `${context.store} (${bytes(free)} free)` };
  } catch (error) {
    return {
      name: 'store',
      state: 'wrong',
      text: `${context.store}: ${errorText(error)}`,
      hint: 'Use --store with a writable folder.',
    };
  }
}

async function runningServer(context: Context): Promise<ServerInfo | undefined> {
  try {
    const { api } = await connect({ store: context.store, start: false, signal: context.signal });
    return await api.server(context.signal);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof Error) return undefined; // not running or not responding
    throw error;
  }
}

function serverFinding(server: ServerInfo | undefined): Finding {
  if (server === undefined)
    return { name: 'server', state: 'missing', text: 'not running; commands start it when they need it' };
  return {
    name: 'server',
    state: 'ok',
    text:
      `${server.product}, pid ${server.pid}: ${server.running} running, ${server.held} held, ${server.queued} ` +
      `queued, ${plural(server.workers.length, 'worker')}`,
  };
}

async function program(name: string, args: readonly string[], without: string, hint: string): Promise<Finding> {
  try {
    const { stdout, stderr } = await run(name, args, { timeout: REQUEST_TIMEOUT_MS });
    return { name, state: 'ok', text: (stdout + stderr).trim() };
  } catch (error) {
    if (error instanceof Error) return { name, state: 'missing', text: `not found: ${without}`, hint };
    throw error;
  }
}

/** Reports the Python environment of code worlds. */
export async function worldsFinding(environment: string = pythonEnvironment()): Promise<Finding> {
  const { state, python } = await pythonState(environment);
  if (state === 'ready') return { name: 'worlds', state: 'ok', text: `${python}, with the packages of code worlds` };
  return {
    name: 'worlds',
    state: 'missing',
    text:
      state === 'old'
        ? `${python} has the packages of another version of Rollout Studio`
        : 'no Python environment: code worlds run only with a Python that has their packages',
    hint: 'Run rollout world setup.',
  };
}

/** Reports whether modules and the programs of tools run in a sandbox. */
function sandboxFinding(support: SandboxSupport, noFilter: string | undefined): Finding {
  if (support.works && noFilter !== undefined)
    return {
      name: 'sandbox',
      state: 'missing',
      text: `works only with \`network: true\` or \`false\`. ${noFilter}`,
    };
  return support.works
    ? {
        name: 'sandbox',
        state: 'ok',
        text: 'works: tools see no other files and processes; the terminal and code reach only the public internet',
      }
    : {
        name: 'sandbox',
        state: 'missing',
        text: `not available: ${support.reason}. Tools run with all rights of the user`,
        hint:
          process.platform === 'linux'
            ? 'Install util-linux, and allow users to create user namespaces.'
            : 'Run hostile agents on a target with pods.',
      };
}

/** Reports the Chromium at `executable`; undefined means none was found. */
export function chromiumFinding(executable: string | undefined): Finding {
  return executable === undefined
    ? {
        name: 'chromium',
        state: 'missing',
        text: 'not found: the browser tools cannot open pages',
        hint: `${installHint(CHROMIUM)}.`,
      }
    : { name: 'chromium', state: 'ok', text: executable };
}

const agentModel = z.object({
  model: z.object({
    endpoint: z.union([z.string(), z.array(z.string())]),
    name: z.string(),
    api_key: z.string().optional(),
  }),
});
const modelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Checks the model endpoints of all agent files in the folder. */
async function endpoints(context: Context): Promise<Finding[]> {
  const names = (await readdir(context.cwd, { recursive: true })).filter(
    (name) => fileKind(name) === 'agent' && !name.split(path.sep).includes('node_modules'),
  );
  const checks = new Map<string, Promise<Finding>>();
  for (const name of names) {
    const text = await diskFiles(context.cwd)
      .readText(name)
      .catch((error: unknown) => {
        if (StudioError.is(error)) return '';
        throw error;
      });
    const parsed = agentModel.safeParse(parse(text, { logLevel: 'silent' }));
    if (!parsed.success) continue; // `rollout check` reports file problems
    const { endpoint, name: model, api_key: key } = parsed.data.model;
    for (const url of Array.isArray(endpoint) ? endpoint : [endpoint]) {
      if (url.startsWith('demo:'))
        checks.set(url, Promise.resolve({ name: 'endpoint', state: 'ok', text: 'demo: the embedded demo model' }));
      else if (isInstalled(url))
        checks.set(
          `${url} ${model}`,
          Promise.resolve({ name: 'endpoint', state: 'ok', text: `${model} on the target` }),
        );
      else checks.set(`${url} ${model}`, checkEndpoint(context, url, model, key));
    }
  }
  return Promise.all(checks.values());
}

async function checkEndpoint(
  context: Context,
  endpoint: string,
  model: string,
  key: string | undefined,
): Promise<Finding> {
  const finding = await askEndpoint(context, endpoint, model, key);
  // An endpoint may repeat the key that it got, and an error the whole URL.
  const values = envNamesIn(`${endpoint} ${key ?? ''}`).map((name) => context.env[name] ?? '');
  return redactor([...secretsInUrl(endpoint), ...values]).json(finding);
}

async function askEndpoint(
  context: Context,
  endpoint: string,
  model: string,
  key: string | undefined,
): Promise<Finding> {
  const missing: string[] = [];
  const filled = (text: string): string =>
    text.replace(/\$\{env:([^}]+)\}/g, (_whole, variable: string) => {
      const value = context.env[variable];
      if (value === undefined) missing.push(variable);
      return value ?? '';
    });
  const url = filled(endpoint);
  const token = key === undefined ? undefined : filled(key);
  if (missing.length > 0)
    return {
      name: 'endpoint',
      state: 'wrong',
      text: `${endpoint}: ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set`,
      hint: `Set ${missing.join(' and ')} in the environment.`,
    };
  try {
    const { outboundRequest } = await import('../../net/outboundRequest.ts');
    const response = await outboundRequest(`${url.replace(/\/$/, '')}/models`, {
      method: 'GET',
      redirects: true,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    if (!response.ok)
      return {
        name: 'endpoint',
        state: 'wrong',
        text: `${endpoint} returned HTTP status ${response.status}`,
        hint: response.status === 401 ? 'Set a valid API key in model.api_key.' : 'Check the log of the endpoint.',
      };
    const served = modelList.parse(JSON.parse(await response.text())).data.map((entry) => entry.id);
    return served.includes(model)
      ? { name: 'endpoint', state: 'ok', text: `${endpoint} serves ${model}` }
      : {
          name: 'endpoint',
          state: 'wrong',
          text: `${endpoint} does not serve ${model}`,
          hint: `It serves ${served.join(', ') || 'nothing'}.`,
        };
  } catch (error) {
    context.signal.throwIfAborted();
    return {
      name: 'endpoint',
      state: 'wrong',
      text: `${endpoint} does not respond: ${errorText(error)}`,
      hint: 'Start the model server or fix model.endpoint.',
    };
  }
}
