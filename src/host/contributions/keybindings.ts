/** Keybindings outside the pages, which handle their own. Testing view keys (`Ctrl+;`) come from VS Code. */

import type { CommandId } from './commands.ts';
import { all, any, BATCH_FILE, CALL_FORM, CONTEXT_KEYS, HAS_FOLDER, TRUSTED } from './keys.ts';

interface Keybinding {
  readonly command: CommandId;
  readonly key: string;
  readonly mac: string;
  readonly when: string;
}

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
  { command: 'rollout.runCall', key: 'ctrl+enter', mac: 'cmd+enter', when: all(TRUSTED, CALL_FORM, 'editorTextFocus') },
];
