/** The form of “Rollout: Install on Target…”, as a person fills it. */
import assert from 'node:assert/strict';
import type { Workbench } from '../../e2e/support/workbench.ts';

/** Labels of the options of `rollout cluster install`. */
const OPTIONS: Readonly<Record<string, string>> = {
  '--image': 'Image',
  '--storage': 'Storage',
  '--port': 'Port',
  '--tls-port': 'TLS port',
  '--advertise': 'URL for workers',
  '--pod-security': 'Pod security',
};

/** Sets the options of `rollout cluster install` in the open list of options. `args`: names and values in turns. */
export async function chooseInstallOptions(workbench: Workbench, args: readonly string[]): Promise<void> {
  for (let index = 0; index < args.length; index += 2) {
    const value = args[index + 1] ?? '';
    const label = OPTIONS[args[index] ?? ''];
    assert.ok(label !== undefined);
    await workbench.pick(label);
    await workbench.inputTitle.filter({ hasText: label }).waitFor();
    await workbench.answer(value);
    await workbench.picks.filter({ hasText: value }).first().waitFor();
  }
}
