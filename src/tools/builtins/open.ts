import type { SubmittedTools } from '../../config/submission.ts';
import type { ToolHost } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../environment.ts';
import { BuiltinHost } from './builtinHost.ts';
import { calculatorTools } from './calculator.ts';
import { codeTools } from './code.ts';
import { fileTools } from './files.ts';
import { terminalTools } from './terminal.ts';

export type BuiltinName = Extract<SubmittedTools, { kind: 'builtin' }>['name'];

/** A set of built-in tools for one rollout. */
export function openBuiltin(name: BuiltinName, environment: ToolEnvironment): ToolHost {
  switch (name) {
    case 'terminal':
      return new BuiltinHost(terminalTools(environment));
    case 'code':
      return new BuiltinHost(codeTools(environment));
    case 'calculator':
      return new BuiltinHost(calculatorTools());
    case 'files':
      return new BuiltinHost(fileTools(environment));
  }
}
