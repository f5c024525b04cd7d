import path from 'node:path';
import { certificatesOf } from '../../client/targets/addressTokens.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { serverUrl, type Target, targetPlace } from '../../client/targets/target.ts';
import { table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import { type Command, type CommandLine, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

const MARK = { ok: '✓', missing: '–', wrong: '✗', unknown: '?' } as const;

export const target: Command = {
  name: 'target',
  usage: 'add NAME | list | status [NAME] | remove NAME',
  text:
    'Clusters and servers where rollouts may run, for --target and a batch file’s `target`. Credentials stay in ' +
    'the kubeconfig and the environment.',
  options: {
    context: {
      type: 'string',
      value: 'NAME',
      text: 'add: context of the kubeconfig; without it the contexts are listed',
    },
    kubeconfig: { type: 'string', value: 'FILE', text: 'add: the kubeconfig (that of KUBECONFIG, or ~/.kube/config)' },
    namespace: { type: 'string', value: 'NAME', text: 'add: where the server is or shall be (that of the context)' },
    url: { type: 'string', value: 'URL', text: 'add: a server at an address, instead of one in a cluster' },
    'token-env': { type: 'string', value: 'NAME', text: 'add --url: the environment variable that holds its token' },
    'read-token-env': {
      type: 'string',
      value: 'NAME',
      text: 'add --url: the one that holds its token that may only read',
    },
    ca: { type: 'string', value: 'FILE', text: 'add --url: certificates (PEM) of an authority of its own' },
  },
  async run(context, given) {
    const [verb, name, ...more] = given.words;
    const named = { add: true, remove: true, list: false, status: undefined }[verb ?? ''];
    if (
      !['add', 'list', 'status', 'remove'].includes(verb ?? '') ||
      more.length > 0 ||
      (named === true && name === undefined) ||
      (named === false && name !== undefined)
    ) {
      throw new StudioError('usage', `usage: rollout target ${target.usage}`);
    }
    if (verb !== 'add' && Object.keys(target.options).some((option) => given.options[option] !== undefined)) {
      throw new StudioError('usage', 'These options are for rollout target add.');
    }
    switch (verb) {
      case 'add':
        return add(context, given, name ?? '');
      case 'remove':
        context.targets.remove(name ?? '');
        if (context.json) context.printJson({ removed: name });
        else
          context.print(
            `${name ?? ''}: removed here. What is installed there stays; rollout cluster uninstall removes that.`,
          );
        return 0;
      case 'status':
        return status(context, name ?? (context.target === LOCAL ? undefined : context.target));
      default:
        return list(context);
    }
  },
};

async function add(context: Context, given: CommandLine, name: string): Promise<Outcome> {
  const wanted = await wantedTarget(context, given, name);
  if (wanted === undefined) return 0;
  const isNew = context.targets.add(name, wanted);
  if (context.json) context.printJson({ target: name, ...wanted, new: isNew });
  else
    context.print(
      `${name}: ${targetPlace(wanted)} ${isNew ? 'added' : 'replaced'}. rollout target status ${name} shows what ` +
        `is there${'url' in wanted ? '' : `; rollout cluster install --target ${name} installs the server`}.`,
    );
  return 0;
}

/** undefined: the contexts were listed, for none was chosen. */
async function wantedTarget(context: Context, given: CommandLine, name: string): Promise<Target | undefined> {
  const [url, tokenEnv, readTokenEnv, ca] = [
    textOption(given, 'url'),
    textOption(given, 'token-env'),
    textOption(given, 'read-token-env'),
    textOption(given, 'ca'),
  ];
  const [wanted, named, namespace] = [
    textOption(given, 'context'),
    textOption(given, 'kubeconfig'),
    textOption(given, 'namespace'),
  ];
  if (url !== undefined) {
    if (wanted !== undefined || named !== undefined || namespace !== undefined)
      throw new StudioError(
        'usage',
        '--url is for a server at an address; --context, --kubeconfig and --namespace are for one in a cluster.',
      );
    if (tokenEnv === undefined)
      throw new StudioError(
        'usage',
        '--url needs --token-env: the environment variable that holds the server’s token.',
        { hint: 'The token itself is never kept in targets.json.' },
      );
    const certificates = ca === undefined ? undefined : path.resolve(context.cwd, ca);
    await certificatesOf({ ca: certificates });
    return {
      url: serverUrl(url),
      token_env: tokenEnv,
      ...(readTokenEnv === undefined ? {} : { read_token_env: readTokenEnv }),
      ...(certificates === undefined ? {} : { ca: certificates }),
    };
  }
  if (tokenEnv !== undefined || readTokenEnv !== undefined || ca !== undefined)
    throw new StudioError('usage', '--token-env, --read-token-env and --ca go with --url.');
  const kubeconfig = named === undefined ? oneKubeconfig(context.env) : path.resolve(context.cwd, named);
  const { kubeContexts } = await import('../../kubernetes/access/contexts.ts');
  const contexts = await kubeContexts(kubeconfig);
  if (wanted === undefined) {
    if (context.json) context.printJson({ contexts });
    else if (contexts.length === 0) context.print('The kubeconfig has no contexts.');
    else
      context.print(
        table([
          ['', 'context', 'cluster', 'namespace'],
          ...contexts.map((one) => [one.current ? '*' : '', one.name, one.cluster, one.namespace ?? 'default']),
        ]),
      );
    context.tell(`Choose one: rollout target add ${name} --context CONTEXT`);
    return undefined;
  }
  if (!contexts.some((one) => one.name === wanted)) {
    throw new StudioError('not_found', `The kubeconfig has no context “${wanted}”.`, {
      hint: contexts.length === 0 ? 'It has none at all.' : `It has: ${contexts.map((one) => one.name).join(', ')}.`,
    });
  }
  return {
    context: wanted,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/**
 * The file that KUBECONFIG names: it is kept, for other shells and VS Code may not have the variable. A list of files
 * is left to it.
 */
function oneKubeconfig(env: NodeJS.ProcessEnv): string | undefined {
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

/** Exit code 1 when something is wrong with one of them. */
async function status(context: Context, name: string | undefined): Promise<Outcome> {
  const asked = name === undefined ? [...context.targets.list()] : [[name, context.targets.get(name)] as const];
  if (asked.length === 0) context.tell('No target yet. rollout target add NAME lists the contexts of the kubeconfig.');
  const { targetStatus } = await import('../../client/targets/targetStatus.ts');
  const all = await Promise.all(
    asked.map(([one, what]) => targetStatus(one, what, { env: context.env, signal: context.signal })),
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
  return all.some(({ findings }) => findings.some(({ state }) => state === 'wrong')) ? 1 : 0;
}
