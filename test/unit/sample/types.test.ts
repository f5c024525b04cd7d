import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import ts from 'typescript';
import { SAMPLE } from '../../support/sampleWorkspace.ts';

/** Users learn from these files: they compile under the strictest flags. */
it('the sample workspace type-checks', () => {
  const root = join(import.meta.dirname, '..', '..', '..');
  const files = readdirSync(SAMPLE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(SAMPLE, file));
  assert.ok(files.length >= 9, 'the files are found');
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
    paths: { 'rollout-studio': [join(root, 'src', 'tools', 'sdk.ts')] },
  });
  const problems = ts.getPreEmitDiagnostics(program).map((problem) =>
    ts.formatDiagnostic(problem, {
      getCurrentDirectory: () => root,
      getCanonicalFileName: (name) => name,
      getNewLine: () => '\n',
    }),
  );
  assert.deepEqual(problems, []);
});
