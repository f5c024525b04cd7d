import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesInImporter, namesInModule, type Span } from '../../../src/language/names/codeNames.ts';

/** Marks the places with » and «. */
function marked(text: string, spans: readonly Span[]): string {
  return spans
    .toReversed()
    .reduce((out, { start, end }) => `${out.slice(0, start)}»${out.slice(start, end)}«${out.slice(end)}`, text);
}

test('in its own module a name is its declaration and its uses, not equal text', () => {
  const source = `// find it
export const find = tool({ description: 'find something', run: () => other.find() });
const all = { find, find: 1, findAll: find.run };
`;
  assert.equal(
    marked(source, namesInModule(source, 'find')),
    `// find it
export const »find« = tool({ description: 'find something', run: () => other.find() });
const all = { »find«, find: 1, findAll: »find«.run };
`,
  );
});

test('an export under another name keeps its own', () => {
  const source = 'const inner = tool({});\nexport { inner as find, other };\n';
  assert.equal(
    marked(source, namesInModule(source, 'find')),
    'const inner = tool({});\nexport { inner as »find«, other };\n',
  );
});

test('in other modules it is followed through imports of every form', () => {
  const home = (specifier: string): boolean => specifier === './home.ts';
  const at = (source: string): string => marked(source, namesInImporter(source, 'find', home));
  assert.equal(
    at("import { find, other } from './home.ts';\nfind.run(find);\n"),
    "import { »find«, other } from './home.ts';\n»find«.run(»find«);\n",
  );
  assert.equal(
    at("import { find as search } from './home.ts';\nsearch(find);\n"),
    "import { »find« as search } from './home.ts';\nsearch(find);\n",
  );
  assert.equal(
    at("import * as home from './home.ts';\nhome.find(); elsewhere.find();\n"),
    "import * as home from './home.ts';\nhome.»find«(); elsewhere.find();\n",
  );
  assert.equal(
    at("export { find } from './home.ts';\nexport { find as seek } from './home.ts';\n"),
    "export { »find« } from './home.ts';\nexport { »find« as seek } from './home.ts';\n",
  );
  assert.equal(
    at("import { find } from './elsewhere.ts';\nfind();\n"),
    "import { find } from './elsewhere.ts';\nfind();\n",
  );
});
