/** Runs `rollout target` and `rollout cluster` through the CLI. */
import os from 'node:os';
import { z } from 'zod';
import { LOCAL } from '../../client/targets/local.ts';
import { type InstallDiff, installDiff } from '../../protocol/installDiff.ts';
import type { Cli } from '../services.ts';
import type { Finding } from './findings.ts';

const finding = z.object({
  name: z.string(),
  state: z.enum(['ok', 'missing', 'wrong', 'unknown']),
  text: z.string(),
  hint: z.string().optional(),
});
const status = z.object({ targets: z.array(z.object({ findings: z.array(finding) })) });
const contexts = z.object({
  contexts: z.array(
    z.object({ name: z.string(), cluster: z.string(), namespace: z.string().optional(), current: z.boolean() }),
  ),
});
export type KubeContext = z.infer<typeof contexts>['contexts'][number];

/** Target commands do not run on the current target, which may be unreachable or deleted. */
function targetCommand(cli: Cli, args: readonly string[], signal?: AbortSignal): Promise<unknown> {
  return cli.json(['target', ...args, '--target', LOCAL], {
    cwd: os.homedir(),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Returns the findings of a target. `probe`: also starts a pod there, which takes some seconds. */
export async function targetFindings(
  cli: Cli,
  name: string,
  signal?: AbortSignal,
  probe = false,
): Promise<readonly Finding[]> {
  const { targets } = status.parse(
    await targetCommand(cli, ['status', name, ...(probe ? [] : ['--no-probe'])], signal),
  );
  const findings = targets[0]?.findings ?? [];
  if (probe) return findings;
  return findings.map((each) =>
    each.name === 'network' && each.state === 'unknown'
      ? { ...each, hint: 'Refresh the view to start a pod that tries it.' }
      : each,
  );
}

const nodes = z.object({
  targets: z.array(
    z.object({
      findings: z.array(
        z.looseObject({
          name: z.string(),
          data: z.looseObject({ largest: z.record(z.string(), z.number()).optional() }).optional(),
        }),
      ),
    }),
  ),
});

/** Returns the most that one node of a cluster has of each resource; undefined if the user may not read that. */
export async function largestNode(
  cli: Cli,
  target: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>> | undefined> {
  const { targets } = nodes.parse(await targetCommand(cli, ['status', target, '--no-probe'], signal));
  return targets[0]?.findings.find(({ name }) => name === 'nodes')?.data?.largest;
}

/** Returns the contexts of a kubeconfig. undefined selects the default one. */
export async function kubeContexts(
  cli: Cli,
  kubeconfig: string | undefined,
  signal?: AbortSignal,
): Promise<readonly KubeContext[]> {
  // Without --context the command lists the contexts, but it still requires a name.
  return contexts.parse(await targetCommand(cli, ['add', 'new', ...kubeconfigArguments(kubeconfig)], signal)).contexts;
}

export interface NewTarget {
  readonly name: string;
  readonly context: string;
  readonly namespace: string;
  readonly kubeconfig: string | undefined;
}

export async function addTarget(cli: Cli, { name, context, namespace, kubeconfig }: NewTarget): Promise<void> {
  await targetCommand(cli, [
    'add',
    name,
    '--context',
    context,
    '--namespace',
    namespace,
    ...kubeconfigArguments(kubeconfig),
  ]);
}

/** Adds a server at a URL, to which the user of a context logs in. */
export async function addUserTarget(
  cli: Cli,
  {
    name,
    url,
    ca,
    context,
    kubeconfig,
  }: Omit<NewTarget, 'namespace'> & { readonly url: string; readonly ca: string | undefined },
): Promise<void> {
  const authority = ca === undefined ? [] : ['--ca', ca];
  const login = ['--context', context, ...kubeconfigArguments(kubeconfig)];
  await targetCommand(cli, ['add', name, '--url', url, ...login, ...authority]);
}

export async function removeTarget(cli: Cli, name: string): Promise<void> {
  await targetCommand(cli, ['remove', name]);
}

const stored = z.object({
  options: z
    .object({
      image: z.string(),
      storage: z.string(),
      storageSize: z.string().optional(),
      memory: z.string().optional(),
      port: z.number().optional(),
      tlsPort: z.number().optional(),
      advertise: z.string().optional(),
      podSecurity: z.string().optional(),
      vllm: z.object({ model: z.string(), gpu: z.string().optional() }).optional(),
      models: z.record(z.string(), z.unknown()).optional(),
    })
    .nullable(),
});
/** The options of an installed server that the form shows. */
export type StoredOptions = NonNullable<z.infer<typeof stored>['options']>;

/** Returns the options that the cluster keeps; undefined if nothing is installed there. */
export async function storedOptions(cli: Cli, name: string, signal: AbortSignal): Promise<StoredOptions | undefined> {
  const found = await cli.json(['cluster', 'options', '--target', name], { cwd: os.homedir(), signal });
  return stored.parse(found).options ?? undefined;
}

/** Returns what an installation would change. `args`: options of `rollout cluster install`. */
export async function diffTarget(
  cli: Cli,
  name: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<InstallDiff> {
  return installDiff.parse(
    await cli.json(['cluster', 'diff', ...args, '--target', name], { cwd: os.homedir(), signal }),
  );
}

interface TargetRun {
  readonly signal: AbortSignal;
  /** Called with each progress line. */
  readonly onLine: (line: string) => void;
}

/** Runs `rollout cluster` on a target. */
export async function clusterCommand(
  cli: Cli,
  name: string,
  args: readonly string[],
  { signal, onLine }: TargetRun,
): Promise<void> {
  await cli.json(['cluster', ...args, '--target', name], { cwd: os.homedir(), signal, onProgress: onLine });
}

function kubeconfigArguments(kubeconfig: string | undefined): string[] {
  return kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig];
}
