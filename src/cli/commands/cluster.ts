import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LOCAL } from '../../client/targets/local.ts';
import { clusterRef } from '../../client/targets/target.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import type { Change } from '../../kubernetes/install/install.ts';
import type { InstallOptions } from '../../kubernetes/install/options.ts';
import { INSTALL_OPTIONS, readInstallOptions } from '../clusterOptions.ts';
import {
  type Command,
  type CommandLine,
  flag,
  numberOption,
  type Outcome,
  refuseOtherOptions,
  textOption,
} from '../command.ts';
import type { Context } from '../context.ts';
import { diff, printOptions } from './cluster/diff.ts';
import { image } from './cluster/image.ts';
import { explainModels } from './cluster/models.ts';
import { roles } from './cluster/roles.ts';
import { type ClusterVerb, SECTIONS, VERBS } from './cluster/verbs.ts';

type Action = Exclude<ClusterVerb, 'image' | 'roles'>;

const TIMEOUT_SECONDS = 300;
/** How long to wait for what the server says about itself. A repeated installation may be there to repair it. */
const INFO_TIMEOUT_MS = { upgrade: 10_000, install: 5_000 };

export const cluster: Command = {
  name: 'cluster',
  usage: Object.keys(VERBS).join('|'),
  text: 'Installs a server in a cluster, upgrades or uninstalls it, or renders it for GitOps.',
  verbs: VERBS,
  sections: SECTIONS,
  options: {
    'create-namespace': { type: 'boolean', text: 'create the namespace if it does not exist' },
    namespace: { type: 'string', value: 'NAME', text: 'namespace, without a target (default)' },
    ...INSTALL_OPTIONS,
    as: {
      type: 'string',
      value: 'FORM',
      text: 'manifests, in the file of --out, or on stdout; kustomize or helm, in the folder of --out (manifests)',
    },
    out: { type: 'string', value: 'PATH', text: 'folder for the files, or file for the manifests' },
    tag: { type: 'string', value: 'NAME', text: 'also build the image, with this name' },
    push: { type: 'boolean', text: 'also push the image to its registry' },
    bind: {
      type: 'string',
      multiple: true,
      value: 'WHO:ROLE',
      text:
        'also give user=NAME, group=NAME, or serviceaccount=[NAMESPACE/]NAME the Role viewer, user, or admin; ' +
        'repeatable',
    },
    'delete-data': { type: 'boolean', text: 'also delete the volumes with the trajectories' },
    force: { type: 'boolean', text: 'take back what others changed, also where a GitOps tool keeps the installation' },
    'dry-run': { type: 'boolean', text: 'only print what would change' },
    backup: {
      type: 'string',
      value: 'FILE|DIR',
      text: 'save the store of the server first; going back to an older server may need it',
    },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      text: `how long to wait for the server; 0 does not wait (${TIMEOUT_SECONDS})`,
    },
  },
  async run(context, commandLine) {
    const [word, ...more] = commandLine.words;
    const action = isVerb(word) ? word : undefined;
    if (action === undefined || more.length > 0)
      throw new StudioError('usage', `usage: rollout cluster ${cluster.usage}`);
    refuseOtherOptions(cluster, action, VERBS[action], commandLine);
    if (action === 'image') return await image(context, commandLine);
    if (action === 'roles') return await roles(context, commandLine, () => open(context, commandLine));
    if (action === 'render' && targetOf(context) === undefined)
      return await print(context, commandLine, textOption(commandLine, 'namespace') ?? 'default');
    const opened = await open(context, commandLine);
    try {
      return await act(action, opened, context, commandLine);
    } finally {
      opened.close();
    }
  },
};

function isVerb(word: string | undefined): word is ClusterVerb {
  return word !== undefined && Object.hasOwn(VERBS, word);
}

async function open(context: Context, commandLine: CommandLine): Promise<Cluster> {
  const target = targetOf(context);
  if (target === undefined) {
    throw new StudioError('usage', 'No cluster selected.', {
      hint: 'Select one with --target NAME. Add one with rollout target add NAME --context CONTEXT.',
    });
  }
  if (textOption(commandLine, 'namespace') !== undefined) {
    throw new StudioError('usage', '--namespace cannot be combined with a target, which has its own namespace.', {
      hint: 'Change it with rollout target add … --namespace NAME.',
    });
  }
  const { Cluster } = await import('../../kubernetes/access/cluster.ts');
  return await Cluster.open(clusterRef(target, context.targets.get(target)));
}

/** Returns the selected target, or undefined for `local`, which is not a cluster. */
function targetOf({ target }: Context): string | undefined {
  return target === LOCAL ? undefined : target;
}

async function act(action: Action, opened: Cluster, context: Context, commandLine: CommandLine): Promise<Outcome> {
  if (action === 'uninstall') return await remove(opened, context, commandLine);
  const { install } = await import('../../kubernetes/install/install.ts');
  const { installedOptions } = await import('../../kubernetes/install/stored.ts');
  const installed = await installedOptions(opened, context.signal);
  if (action === 'render') return await print(context, commandLine, opened.namespace, installed);
  if (action === 'options') return printOptions(context, opened.namespace, installed);
  if (action === 'diff') return await diff(context, commandLine, opened, installed);
  if (action === 'upgrade' && installed === undefined) {
    throw new StudioError('not_found', `No server is installed in namespace ${opened.namespace}.`, {
      hint: 'Install one with rollout cluster install.',
    });
  }
  const { modelsOf, modelUrl } = await import('../../kubernetes/install/vllm/models.ts');
  const options = await readInstallOptions(commandLine, installed, context.cwd);
  await explainModels(context, commandLine, options);
  const dryRun = flag(commandLine, 'dry-run');
  const report = reporter(context, dryRun);
  if (!dryRun) await beforeUpgrade(action, installed !== undefined, context, commandLine);
  await install(
    opened,
    {
      options,
      dryRun,
      force: flag(commandLine, 'force'),
      createNamespace: flag(commandLine, 'create-namespace'),
      signal: context.signal,
      timeoutMs: (numberOption(commandLine, 'timeout', 0) ?? TIMEOUT_SECONDS) * 1000,
    },
    report,
  );
  for (const { name, options: model } of modelsOf(options))
    report.note(
      `Once loaded, ${model.model} is available to batches as \`endpoint: 'target:'\`, or at ` +
        `${modelUrl(name, opened.namespace)}.`,
    );
  report.end(
    dryRun
      ? 'Dry run: nothing was changed.'
      : `The server is installed in namespace ${opened.namespace}. Use it with rollout run FILE --target ` +
          `${targetOf(context) ?? 'NAME'}.`,
  );
  return 0;
}

/**
 * Saves the store before an upgrade, or says that the previous server will not read it any more. Throws `version`
 * before anything is changed if this version does not read the store itself.
 */
async function beforeUpgrade(
  action: Action,
  isInstalled: boolean,
  context: Context,
  commandLine: CommandLine,
): Promise<void> {
  const place = textOption(commandLine, 'backup');
  if (place !== undefined && (action !== 'upgrade' || !isInstalled))
    throw new StudioError('usage', '--backup is only for rollout cluster upgrade.');
  if (!isInstalled) return;
  // Whoever may install need not have access to batches, and the server may be down.
  const info = await Promise.race([
    context.connect().then(({ api }) => api.server(context.signal)),
    delay(INFO_TIMEOUT_MS[action === 'upgrade' ? 'upgrade' : 'install'], undefined, { ref: false }),
  ]).catch(() => undefined);
  const { STORE_VERSION } = await import('../../protocol/version.ts');
  const stored = info?.store_version ?? STORE_VERSION;
  if (stored > STORE_VERSION)
    throw new StudioError(
      'version',
      `The server in the cluster is newer (${info?.product ?? ''}). A server of this version could not read its ` +
        `store (store version ${stored}; this version supports ${STORE_VERSION}), so nothing was changed.`,
      {
        hint:
          'Update this command line. To go back to this version, uninstall with --delete-data, install, and restore ' +
          'a backup that was made before the upgrade: rollout restore FILE.',
      },
    );
  if (place !== undefined) {
    const { backupFile, saveBackup } = await import('../../client/data/backup.ts');
    const file = await backupFile(path.resolve(context.cwd, place));
    const { api } = await context.connect();
    const saved = await saveBackup(api, file, { signal: context.signal });
    (context.json ? context.log : context.print)(`Saved the store in ${saved.file}.`);
    return;
  }
  if (action === 'upgrade' && stored < STORE_VERSION)
    context.log(
      `This upgrade changes the store (version ${stored} to ${STORE_VERSION}), which the previous server cannot read ` +
        'then. To be able to go back, stop now, and use --backup FILE.',
    );
}

async function remove(opened: Cluster, context: Context, commandLine: CommandLine): Promise<Outcome> {
  const { uninstall } = await import('../../kubernetes/install/uninstall.ts');
  const report = reporter(context, false);
  const isRemoved = await uninstall(
    opened,
    {
      deleteData: flag(commandLine, 'delete-data'),
      force: flag(commandLine, 'force'),
      signal: context.signal,
    },
    report,
  );
  report.end(
    isRemoved
      ? `Uninstalled the server from namespace ${opened.namespace}.`
      : `Rollout Studio is not installed in namespace ${opened.namespace}.`,
  );
  return 0;
}

async function print(
  context: Context,
  commandLine: CommandLine,
  namespace: string,
  installed?: InstallOptions,
): Promise<Outcome> {
  const { serverArchive } = await import('../../kubernetes/install/install.ts');
  const { FORMS, MARK, renderKustomize, renderManifests } = await import('../../kubernetes/install/render/render.ts');
  const { renderHelm } = await import('../../kubernetes/install/render/helm.ts');
  const named = textOption(commandLine, 'as') ?? 'manifests';
  const form = FORMS.find((each) => each === named);
  const out = textOption(commandLine, 'out');
  const options = await readInstallOptions(commandLine, installed, context.cwd);
  await explainModels(context, commandLine, options);
  if (form === undefined) throw new StudioError('usage', `--as ${named} is unknown. Expected ${FORMS.join(', ')}.`);
  if (form !== 'manifests' && out === undefined)
    throw new StudioError('usage', '--as kustomize and --as helm require --out FOLDER.');
  const rendering = { options, archive: await serverArchive(), namespace };
  const { writeGenerated, writeGeneratedFile } = await import('../../kubernetes/install/render/generated.ts');
  if (out === undefined || form === 'manifests') {
    const text = renderManifests(rendering);
    if (out !== undefined) await writeGeneratedFile(path.resolve(context.cwd, out), text, MARK);
    if (context.json) context.printJson({ namespace, ...(out === undefined ? { manifests: text } : { files: [out] }) });
    else if (out === undefined) context.print(text.trimEnd());
    else context.print(`Wrote ${out}. Apply it with kubectl apply -f ${out}`);
    return 0;
  }
  const files = form === 'helm' ? renderHelm(rendering) : renderKustomize(rendering);
  await writeGenerated(path.resolve(context.cwd, out), files, MARK);
  if (context.json) {
    context.printJson({ namespace, files: [...files.keys()] });
    return 0;
  }
  const command =
    form === 'kustomize'
      ? `kubectl apply -k ${out}`
      : options.programs === 'image'
        ? `helm upgrade --install rollout-studio ${out} --namespace ${namespace}`
        : `helm template rollout-studio ${out} --namespace ${namespace} | kubectl apply -f -`;
  context.print(`Wrote ${plural(files.size, 'file')} to ${out}. Apply them with ${command}`);
  if (form === 'helm' && options.programs !== 'image') {
    context.log(
      'helm install cannot store a release of this size (1 MiB at most), because it contains the programs. Argo CD ' +
        'can use the chart. For helm install, render it with --programs image.',
    );
  }
  return 0;
}

/** Prints each change as it happens, or with --json all changes as one document at the end. */
function reporter(context: Context, dryRun: boolean) {
  const changes: Change[] = [];
  return {
    change: (change: Change): void => {
      changes.push(change);
      const verb = dryRun && change.change !== 'same' ? `would be ${change.change}` : change.change;
      // With --json, callers can follow the changes on stderr.
      (context.json ? context.log : context.print)(`${verb.padEnd(dryRun ? 18 : 9)}${change.kind} ${change.name}`);
    },
    note: (text: string): void => context.log(text),
    end: (text: string): void => {
      if (context.json) context.printJson({ changes });
      else context.print(text);
    },
  };
}
