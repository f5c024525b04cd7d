import { type Diagnostic, DiagnosticSeverity } from 'vscode-languageserver-types';
import type { Problem } from '../../config/source/problem.ts';
import { lspRange } from '../workspace/text.ts';

export function diagnosticOf(problem: Problem): Diagnostic {
  return {
    range: lspRange(problem),
    source: 'rollout',
    code: problem.code,
    message: `${problem.message}\n${problem.hint}`,
    severity: problem.severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
  };
}
