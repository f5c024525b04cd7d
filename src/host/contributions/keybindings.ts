/** Keybindings outside the pages, which handle their own. Testing view keys (`Ctrl+;`) come from VS Code. */

import type { CommandId } from './commands.ts';
import { all, any, BATCH_FILE, CALL_FORM, CONTEXT_KEYS, HAS_FOLDER, TRUSTED } from './keys.ts';
import { VIEW_IDS } from './names.ts';

interface Keybinding {
  readonly command: CommandId;
  readonly key: string;
  readonly mac: string;
  readonly when: string;
  readonly args?: string;
}

/** The argument of a key that acts on the item at the focus. */
export const AT_FOCUS = 'focus';

/** In the Batches view, while nobody types into its search. */
const IN_BATCHES = all(TRUSTED, `focusedView == ${VIEW_IDS.batches}`, 'listFocus', '!inputFocus');

export const keybindings: readonly Keybinding[] = [
  { command: 'rollout.launchBatch', key: 'ctrl+; b', mac: 'cmd+; b', when: all(TRUSTED, HAS_FOLDER) },
  {
    command: 'rollout.launchAgain',
    key: 'ctrl+; shift+b',
    mac: 'cmd+; shift+b',
    when: all(TRUSTED, CONTEXT_KEYS.hasBatches),
  },
  // F5 debugs the open file, as usual in VS Code.
  {
    command: 'rollout.debug',
    key: 'f5',
    mac: 'f5',
    when: any(all(TRUSTED, '!inDebugMode', CONTEXT_KEYS.activeTrajectory), all(TRUSTED, '!inDebugMode', BATCH_FILE)),
  },
  // The same keys as on the pages.
  { command: 'rollout.compareAttempts', key: 'c', mac: 'c', when: IN_BATCHES, args: AT_FOCUS },
  { command: 'rollout.compareBatches', key: 'shift+c', mac: 'shift+c', when: IN_BATCHES, args: AT_FOCUS },
  { command: 'rollout.fork', key: 'f', mac: 'f', when: IN_BATCHES, args: AT_FOCUS },
  { command: 'rollout.copyReference', key: 'y', mac: 'y', when: IN_BATCHES, args: AT_FOCUS },
  { command: 'rollout.runCall', key: 'ctrl+enter', mac: 'cmd+enter', when: all(TRUSTED, CALL_FORM, 'editorTextFocus') },
];
