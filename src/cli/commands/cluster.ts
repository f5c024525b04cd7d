import { LOCAL } from '../../client/targets/local.ts';
import { clusterRef } from '../../client/targets/target.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import type { Change } from '../../kubernetes/install/install.ts';
import type { InstallOptions } from '../../kubernetes/install/options.ts';
import { INSTALL_OPTIONS, readInstallOptions } from '../clusterOptions.ts';
import { type Command, type CommandLine, flag, numberOption, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

const ACTIONS = ['install', 'upgrade', 'uninstall', 'render'] as const;
type Action = (typeof ACTIONS)[number];

const TIMEOUT_SECONDS = 300;

export const cluster: Command = {
  name: 'cluster',
  usage: `${ACTIONS.join('|')} --target NAME`,
  text: [
    'Puts a server into a cluster, takes it out again, or prints its manifests (render).',
    'install may be run again: what is not named stays as it was installed. upgrade is the same for what is there.',
  ].join('\n'),
  options: {
    'create-namespace': { type: 'boolean', text: 'make the namespace where it is absent' },
    namespace: { type: 'string', value: 'NAME', text: 'of the printed manifests, where render has no target' },
    ...INSTALL_OPTIONS,
    'delete-data': { type: 'boolean', text: 'uninstall: the volumes with the trajectories too' },
    'dry-run': { type: 'boolean', text: 'only tell what would change' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      text: `how long to wait for the server; 0 = not at all (${TIMEOUT_SECONDS})`,
    },
  },
  async run(context, given) {
    const [word, ...more] = given.words;
    const action = ACTIONS.find((name) => name === word);
    if (action === undefined || more.length > 0)
      throw new StudioError('usage', `usage: rollout cluster ${cluster.usage}`);
    if (action === 'render' && targetOf(context) === undefined)
      return await print(context, given, textOption(given, 'namespace') ?? 'default');
    const opened = await open(context, given);
    try {
      return await act(action, opened, context, given);
    } finally {
      opened.close();
    }
  },
};

async function open(context: Context, given: CommandLine): Promise<Cluster> {
  const target = targetOf(context);
  if (target === undefined) {
    throw new StudioError('usage', 'In which cluster?', {
      hint: 'Name it with --target; rollout target add NAME --context CONTEXT adds one.',
    });
  }
  if (textOption(given, 'namespace') !== undefined) {
    throw new StudioError('usage', 'The namespace is that of the target.', {
      hint: 'rollout target add … --namespace NAME says which.',
    });
  }
  const { Cluster } = await import('../../kubernetes/access/cluster.ts');
  return await Cluster.open(clusterRef(target, context.targets.get(target)));
}

/** The cluster that was named: this machine is none. */
function targetOf({ target }: Context): string | undefined {
  return target === LOCAL ? undefined : target;
}

async function act(action: Action, opened: Cluster, context: Context, given: CommandLine): Promise<Outcome> {
  if (action === 'uninstall') return await remove(opened, context, given);
  const { install, installedOptions } = await import('../../kubernetes/install/install.ts');
  const installed = await installedOptions(opened, context.signal);
  if (action === 'render') return await print(context, given, opened.namespace, installed);
  if (action === 'upgrade' && installed === undefined) {
    throw new StudioError('not_found', `There is no server in namespace ${opened.namespace}.`, {
      hint: 'rollout cluster install puts one there.',
    });
  }
  const { vllmUrl } = await import('../../kubernetes/install/manifests/vllm.ts');
  const options = await readInstallOptions(given, installed);
  const dryRun = flag(given, 'dry-run');
  const report = reporter(context, dryRun);
  await install(
    opened,
    {
      options,
      dryRun,
      createNamespace: flag(given, 'create-namespace'),
      signal: context.signal,
      timeoutMs: (numberOption(given, 'timeout', 0) ?? TIMEOUT_SECONDS) * 1000,
    },
    report,
  );
  if (options.vllm !== undefined)
    report.note(`The model is at ${vllmUrl(opened.namespace)} for rollouts in this cluster, once it is loaded.`);
  report.end(
    dryRun
      ? 'Nothing was changed.'
      : `The server is in namespace ${opened.namespace}. rollout run FILE --target ${targetOf(context) ?? 'NAME'} ` +
          'uses it.',
  );
  return 0;
}

async function remove(opened: Cluster, context: Context, given: CommandLine): Promise<Outcome> {
  const { uninstall } = await import('../../kubernetes/install/uninstall.ts');
  const report = reporter(context, false);
  const any = await uninstall(opened, { deleteData: flag(given, 'delete-data'), signal: context.signal }, report);
  report.end(
    any
      ? `The server is gone from namespace ${opened.namespace}.`
      : `There was nothing of ours in namespace ${opened.namespace}.`,
  );
  return 0;
}

async function print(
  context: Context,
  given: CommandLine,
  namespace: string,
  installed?: InstallOptions,
): Promise<Outcome> {
  const { render } = await import('../../kubernetes/install/render.ts');
  const text = await render(await readInstallOptions(given, installed), namespace);
  if (context.json) context.printJson({ namespace, manifests: text });
  else context.print(text.trimEnd());
  return 0;
}

/** Tells what happens: a line for each object, or all of it as one document at the end. */
function reporter(context: Context, dryRun: boolean) {
  const changes: Change[] = [];
  return {
    change: (change: Change): void => {
      changes.push(change);
      // A program that reads the one document can follow on stderr.
      (context.json ? context.tell : context.print)(
        `${(dryRun && change.change !== 'same' ? `would be ${change.change}` : change.change).padEnd(dryRun ? 18 : 9)}${change.kind} ` +
          change.name,
      );
    },
    note: (text: string): void => context.tell(text),
    end: (text: string): void => {
      if (context.json) context.printJson({ changes });
      else context.print(text);
    },
  };
}
