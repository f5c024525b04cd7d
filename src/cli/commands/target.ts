import path from 'node:path';
import { certificatesOf } from '../../client/targets/addressTokens.ts';
import { LOCAL } from '../../client/targets/local.ts';
import type { TargetFinding } from '../../client/targets/status/finding.ts';
import { serverUrl, type Target, targetPlace } from '../../client/targets/target.ts';
import { table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import { type Command, type CommandLine, flag, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

const NO_PROBE = 'no-probe';
const MARK = { ok: '✓', missing: '–', wrong: '✗', unknown: '?' } as const;

export const target: Command = {
  name: 'target',
  usage: 'add NAME | list | status [NAME] | remove NAME',
  text:
    'Manages targets: clusters and servers where rollouts run, for --target and the `target` of a batch file. ' +
    'Credentials stay in the kubeconfig and the environment.',
  options: {
    context: {
      type: 'string',
      value: 'NAME',
      text:
        'add: kubeconfig context of the cluster; without it, the contexts are listed. With --url: the context whose ' +
        'user logs in',
    },
    kubeconfig: { type: 'string', value: 'FILE', text: 'add: kubeconfig file (KUBECONFIG, or ~/.kube/config)' },
    namespace: { type: 'string', value: 'NAME', text: 'add: namespace of the server (that of the context)' },
    url: { type: 'string', value: 'URL', text: 'add: URL of a server, with --context or --token-env' },
    'token-env': { type: 'string', value: 'NAME', text: 'add --url: environment variable that holds the token' },
    'read-token-env': {
      type: 'string',
      value: 'NAME',
      text: 'add --url: environment variable that holds the read-only token',
    },
    'no-probe': { type: 'boolean', text: 'status: start no pod that tries whether workers reach the server' },
    ca: { type: 'string', value: 'FILE', text: 'add --url: PEM file with the certificates of a private CA' },
  },
  async run(context, commandLine) {
    const [verb, name, ...more] = commandLine.words;
    const needsName = { add: true, remove: true, list: false, status: undefined }[verb ?? ''];
    if (
      !['add', 'list', 'status', 'remove'].includes(verb ?? '') ||
      more.length > 0 ||
      (needsName === true && name === undefined) ||
      (needsName === false && name !== undefined)
    ) {
      throw new StudioError('usage', `usage: rollout target ${target.usage}`);
    }
    for (const option of Object.keys(target.options)) {
      const of = option === NO_PROBE ? 'status' : 'add';
      if (verb !== of && commandLine.options[option] !== undefined)
        throw new StudioError('usage', `--${option} is only for rollout target ${of}.`);
    }
    switch (verb) {
      case 'add':
        return add(context, commandLine, name ?? '');
      case 'remove':
        context.targets.remove(name ?? '');
        if (context.json) context.printJson({ removed: name });
        else
          context.print(
            `Removed target ${name ?? ''}. This does not uninstall its server; use rollout cluster uninstall for that.`,
          );
        return 0;
      case 'status':
        return status(
          context,
          name ?? (context.target === LOCAL ? undefined : context.target),
          !flag(commandLine, NO_PROBE),
        );
      default:
        return list(context);
    }
  },
};

async function add(context: Context, commandLine: CommandLine, name: string): Promise<Outcome> {
  const definition = await readTarget(context, commandLine, name);
  if (definition === undefined) return 0;
  const isNew = context.targets.add(name, definition);
  if (context.json) context.printJson({ target: name, ...definition, new: isNew });
  else
    context.print(
      `${isNew ? 'Added' : 'Replaced'} target ${name}: ${targetPlace(definition)}. Check it with rollout target ` +
        `status ${name}` +
        ('url' in definition ? '.' : `; install the server with rollout cluster install --target ${name}.`),
    );
  return 0;
}

/** Reads the target from the options. Without --context, lists the contexts and returns undefined. */
async function readTarget(context: Context, commandLine: CommandLine, name: string): Promise<Target | undefined> {
  const [url, tokenEnv, readTokenEnv, ca] = [
    textOption(commandLine, 'url'),
    textOption(commandLine, 'token-env'),
    textOption(commandLine, 'read-token-env'),
    textOption(commandLine, 'ca'),
  ];
  const [contextName, kubeconfigOption, namespace] = [
    textOption(commandLine, 'context'),
    textOption(commandLine, 'kubeconfig'),
    textOption(commandLine, 'namespace'),
  ];
  if (url !== undefined) {
    if (namespace !== undefined)
      throw new StudioError('usage', '--namespace cannot be combined with --url: the server knows its namespace.');
    if (contextName !== undefined && (tokenEnv !== undefined || readTokenEnv !== undefined))
      throw new StudioError('usage', '--context and --token-env are two ways to log in at a URL.', {
        hint: 'Use --context to log in as yourself, or --token-env for a client token.',
      });
    if (contextName === undefined && kubeconfigOption !== undefined)
      throw new StudioError('usage', '--kubeconfig with --url requires --context.');
    if (contextName === undefined && tokenEnv === undefined)
      throw new StudioError('usage', '--url requires --context or --token-env, which say how to log in.', {
        hint:
          '--context names the context of your kubeconfig whose user you are at the server, and --token-env the ' +
          'environment variable that holds a client token. Neither is stored in targets.json.',
      });
    const address = serverUrl(url);
    const certificates = ca === undefined ? undefined : path.resolve(context.cwd, ca);
    await certificatesOf({ ca: certificates });
    const authority = certificates === undefined ? {} : { ca: certificates };
    if (tokenEnv !== undefined)
      return {
        url: address,
        token_env: tokenEnv,
        ...(readTokenEnv === undefined ? {} : { read_token_env: readTokenEnv }),
        ...authority,
      };
    if (!address.startsWith('https:'))
      throw new StudioError('usage', `${address} would receive the credential of the cluster unencrypted.`, {
        hint: 'Use https, or --token-env for a server on this machine.',
      });
    const chosen = await contextOf(context, name, contextName, kubeconfigOption);
    return chosen === undefined ? undefined : { url: address, ...authority, ...chosen };
  }
  if (tokenEnv !== undefined || readTokenEnv !== undefined || ca !== undefined)
    throw new StudioError('usage', '--token-env, --read-token-env, and --ca require --url.');
  const chosen = await contextOf(context, name, contextName, kubeconfigOption);
  return chosen === undefined ? undefined : { ...chosen, ...(namespace === undefined ? {} : { namespace }) };
}

interface ChosenContext {
  readonly context: string;
  readonly kubeconfig?: string;
}

/** Returns a context that exists. Without one, lists all and returns undefined. */
async function contextOf(
  context: Context,
  name: string,
  chosen: string | undefined,
  file: string | undefined,
): Promise<ChosenContext | undefined> {
  const kubeconfig = file === undefined ? singleKubeconfig(context.env) : path.resolve(context.cwd, file);
  const { kubeContexts } = await import('../../kubernetes/access/contexts.ts');
  const contexts = await kubeContexts(kubeconfig);
  if (chosen === undefined) {
    if (context.json) context.printJson({ contexts });
    else if (contexts.length === 0) context.print('The kubeconfig has no contexts.');
    else
      context.print(
        table([
          ['', 'context', 'cluster', 'namespace'],
          ...contexts.map((one) => [one.current ? '*' : '', one.name, one.cluster, one.namespace ?? 'default']),
        ]),
      );
    context.log(`Choose a context: rollout target add ${name} --context CONTEXT`);
    return undefined;
  }
  if (!contexts.some((one) => one.name === chosen)) {
    throw new StudioError('not_found', `The kubeconfig has no context “${chosen}”.`, {
      hint:
        contexts.length === 0
          ? 'It has no contexts at all.'
          : `Available contexts: ${contexts.map((one) => one.name).join(', ')}.`,
    });
  }
  return { context: chosen, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
}

/**
 * Returns the file in KUBECONFIG, to store it with the target, because other shells and VS Code may not have the
 * variable. Returns undefined if it lists several files.
 */
function singleKubeconfig(env: NodeJS.ProcessEnv): string | undefined {
  const files = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  return files.length === 1 && files[0] !== undefined ? path.resolve(files[0]) : undefined;
}

function list(context: Context): Outcome {
  const targets = [...context.targets.list()];
  if (context.json) context.printJson({ targets: targets.map(([name, one]) => ({ target: name, ...one })) });
  else
    context.print(
      table([['target', 'where'], [LOCAL, 'this machine'], ...targets.map(([name, one]) => [name, targetPlace(one)])]),
    );
  return 0;
}

/** Whether no batch would run, or something is not as it should be. */
function isBad({ name, state }: TargetFinding): boolean {
  return state === 'wrong' || (state === 'missing' && (name === 'server' || name === 'namespace'));
}

/** Prints the status of one or all targets. Returns 1 if any has a problem. */
async function status(context: Context, name: string | undefined, probe: boolean): Promise<Outcome> {
  const targets = name === undefined ? [...context.targets.list()] : [[name, context.targets.get(name)] as const];
  if (targets.length === 0) context.log('No targets yet. Add one with rollout target add NAME.');
  const { targetStatus } = await import('../../client/targets/targetStatus.ts');
  const all = await Promise.all(
    targets.map(([one, definition]) =>
      targetStatus(one, definition, { env: context.env, probe, signal: context.signal }),
    ),
  );
  if (context.json) context.printJson({ targets: all });
  else {
    for (const { target: one, place, findings } of all) {
      context.print(`${one}: ${place}`);
      for (const finding of findings) {
        context.print(`  ${MARK[finding.state]} ${finding.name.padEnd(8)} ${finding.text}`);
        if (finding.hint !== undefined && finding.state !== 'ok') context.print(`             ${finding.hint}`);
      }
    }
  }
  return all.some(({ findings }) => findings.some(isBad)) ? 1 : 0;
}
