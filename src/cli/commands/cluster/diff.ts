/** `rollout cluster diff` and `options`: what an installation would change, and how it was installed. */
import { plural } from '../../../common/text.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { InstallOptions } from '../../../kubernetes/install/options.ts';
import { changedObjects, type FieldDiff, type InstallDiff, type ObjectDiff } from '../../../protocol/installDiff.ts';
import { harmlessLine } from '../../../trace/text/terminal.ts';
import { readInstallOptions } from '../../clusterOptions.ts';
import { type CommandLine, flag, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { explainModels } from './models.ts';

/** Prints what `install` would change with the same options. */
export async function diff(
  context: Context,
  commandLine: CommandLine,
  opened: Cluster,
  installed: InstallOptions | undefined,
): Promise<Outcome> {
  const { diffInstall } = await import('../../../kubernetes/install/diff.ts');
  const options = await readInstallOptions(commandLine, installed, context.cwd);
  await explainModels(context, commandLine, options);
  const found = await diffInstall(opened, {
    options,
    installed: installed !== undefined,
    // Nothing is created: without the namespace, all objects would be.
    createNamespace: true,
    force: flag(commandLine, 'force'),
    signal: context.signal,
  });
  if (context.json) context.printJson(found);
  else {
    context.print(diffText(found));
    for (const note of found.notes) context.log(note);
  }
  return 0;
}

/** Prints the options that the cluster keeps of its installation. */
export function printOptions(context: Context, namespace: string, installed: InstallOptions | undefined): Outcome {
  if (context.json) context.printJson({ namespace, options: installed ?? null });
  else if (installed === undefined) context.print(`No server is installed in namespace ${namespace}.`);
  else
    for (const [name, value] of Object.entries(installed))
      context.print(harmlessLine(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`));
  return 0;
}

export function diffText(found: InstallDiff): string {
  const changed = changedObjects(found);
  const same = found.objects.length - changed.length;
  const count = (change: ObjectDiff['change']): number => changed.filter((each) => each.change === change).length;
  const counts = [
    count('create') > 0 ? `${count('create')} to create` : '',
    count('change') > 0 ? `${count('change')} to change` : '',
    count('remove') > 0 ? `${count('remove')} to remove` : '',
    `${plural(same, 'object')} ${same === 1 ? 'stays' : 'stay'} as ${same === 1 ? 'it is' : 'they are'}`,
  ].filter((part) => part !== '');
  return [
    ...changed.flatMap(({ change, kind, name, fields }) => [
      `${change.padEnd(8)}${kind} ${name}`,
      ...fields.map((field) => `          ${harmlessLine(fieldText(field))}`),
    ]),
    `${counts.join(', ')}.`,
  ].join('\n');
}

function fieldText({ path, before, after }: FieldDiff): string {
  return `${path}: ${valueText(before)} → ${valueText(after)}`;
}

function valueText(value: unknown): string {
  return value === undefined ? '(none)' : JSON.stringify(value);
}
