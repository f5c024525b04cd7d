import { StudioError } from '../../common/errors.ts';
import type { BuiltinSettings } from '../../config/schema/builtinSettings.ts';
import type { SubmittedTools } from '../../config/submission.ts';
import type { ToolHost } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../environment.ts';
import { Programs } from '../sandbox/programs.ts';
import { browserTools } from './browser/tools.ts';
import { BuiltinHost } from './builtinHost.ts';
import { calculatorTools } from './calculator.ts';
import { codeTools } from './code.ts';
import { documentTools } from './documents/tools.ts';
import { fileTools } from './files.ts';
import { audioTools } from './media/audio.ts';
import { visionTools } from './media/vision.ts';
import { inReaderThread } from './readerThread/pool.ts';
import { spreadsheetTools } from './spreadsheet/tools.ts';
import { terminalTools } from './terminal.ts';
import { searchTools } from './web/tools.ts';

export type BuiltinName = Extract<SubmittedTools, { kind: 'builtin' }>['name'];

/**
 * Opens a set of built-in tools for one rollout. `programs`: shared with other sets; the caller ends them.
 * Throws StudioError `config` if its settings are missing.
 */
export function openBuiltin(
  name: BuiltinName,
  environment: ToolEnvironment,
  settings: BuiltinSettings = {},
  programs: Programs = new Programs(environment),
): ToolHost {
  switch (name) {
    case 'browser': {
      const browser = browserTools(environment, settings.browser ?? {});
      return new BuiltinHost(browser.tools, () => browser.close());
    }
    case 'terminal':
      return new BuiltinHost(terminalTools(environment, programs));
    case 'code':
      return new BuiltinHost(codeTools(environment, programs, settings.code));
    case 'spreadsheet':
      return new BuiltinHost(
        spreadsheetTools(environment).map((tool) => inReaderThread('spreadsheet', environment.cwd, tool)),
      );
    case 'documents':
      return new BuiltinHost(
        documentTools(environment).map((tool) => inReaderThread('documents', environment.cwd, tool)),
      );
    case 'calculator':
      return new BuiltinHost(calculatorTools());
    case 'files':
      return new BuiltinHost(fileTools(environment));
    case 'search':
      return new BuiltinHost(searchTools(environment, required(settings.search, name)));
    case 'vision':
      return new BuiltinHost(visionTools(environment, required(settings.vision, name)));
    case 'audio':
      return new BuiltinHost(audioTools(environment, required(settings.audio, name)));
  }
}

function required<T>(settings: T | undefined, name: string): T {
  if (settings === undefined)
    throw new StudioError('config', `The built-in ${name} has no settings.`, {
      hint: `Add \`${name}:\` next to \`builtin: [${name}]\`.`,
    });
  return settings;
}
