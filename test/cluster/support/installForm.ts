/** The form of “Rollout: Install on Target…”, as a person fills it. */
import assert from 'node:assert/strict';
import type { Workbench } from '../../e2e/support/workbench.ts';

/** Labels of the options of `rollout cluster install` in the last step. */
const OPTIONS: Readonly<Record<string, string>> = {
  '--port': 'Port',
  '--tls-port': 'TLS port',
  '--advertise': 'URL for workers',
  '--pod-security': 'Pod security',
};
const STORAGE: Readonly<Record<string, string>> = {
  pvc: 'Volume Claim',
  emptyDir: 'None',
  hostPath: 'Folder of a Node…',
  postgres: 'PostgreSQL…',
};

/**
 * Fills the form of a first installation with the options of `rollout cluster install`, up to its last step. `args`:
 * names and values in turns.
 */
export async function chooseInstallOptions(workbench: Workbench, args: readonly string[]): Promise<void> {
  const values = new Map<string, string>();
  for (let index = 0; index < args.length; index += 2) values.set(args[index] ?? '', args[index + 1] ?? '');
  const step = (text: string): Promise<void> => workbench.inputTitle.filter({ hasText: text }).waitFor();
  await step('1/3');
  const [kind = '', rest] = (values.get('--storage') ?? 'pvc').split(/:(.*)/s);
  await workbench.pick(STORAGE[kind] ?? kind);
  if (rest !== undefined) {
    await workbench.answerNext(rest);
  }
  await step('2/3');
  await workbench.answer(values.get('--image') ?? '');
  await step('3/3');
  for (const [name, value] of values) {
    if (name === '--storage' || name === '--image') continue;
    const label = OPTIONS[name];
    assert.ok(label !== undefined, name);
    await workbench.pick(label);
    await workbench.inputTitle.filter({ hasText: label }).waitFor();
    await workbench.answer(value);
    await workbench.picks.filter({ hasText: value }).first().waitFor();
  }
}
