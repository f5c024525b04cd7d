/** Generates a test for the Node.js test runner from a recorded call. It imports the user's tool or world. */

import type { Json } from '../../common/json.ts';
import { inline } from '../../trace/text/values.ts';

export interface TestCaseInput {
  readonly name: string;
  readonly arguments: Json;
  /** The recorded result; undefined if the call failed. */
  readonly result: Json | undefined;
  readonly error: { readonly class: string; readonly message: string } | undefined;
  readonly seed: number;
  /** Where the call was recorded, e.g. `task t1, attempt 2, step 4 (r…@12)`. */
  readonly recorded: string;
  /** Path of the module that exports the tool or the world, relative to the test's folder, with `/`. */
  readonly module: string;
  /** Set if the tool belongs to the world. */
  readonly world?: {
    readonly seed: number;
    readonly task: Json;
    /** Earlier calls that may have changed the world, in order. */
    readonly before: readonly { readonly name: string; readonly arguments: Json }[];
  };
  /** Command that runs the test, e.g. `rollout test tests/renew_loan.test.ts`. */
  readonly command: string;
}

const WIDTH = 100;

export function testCase(input: TestCaseInput): string {
  return input.world === undefined ? toolTest(input) : worldTest(input, input.world);
}

function toolTest(input: TestCaseInput): string {
  return `${heading(input, `import { ${input.name} } from ${quoted(input.module)};`)}
${plain}test(${title(input)}, async () => {
  const context = { ${contextOf(input)}, state: undefined };
  const call = async () => ${input.name}.run(${input.name}.input.parse(${literal(input.arguments, 2)}), context);
${check(input, 'call()')}
});
`;
}

function worldTest(input: TestCaseInput, world: NonNullable<TestCaseInput['world']>): string {
  const before = world.before
    .map(({ name, arguments: args }) => `    [${quoted(name)}, ${literal(args, 4)}],\n`)
    .join('');
  return `${heading(input, `import { open } from ${quoted(input.module)};`)}
${plain}test(${title(input)}, async () => {
  const task = ${literal(world.task, 2)};
  const world = await open(task, ${world.seed});
  const context = { ${contextOf(input)}, state: world.state };
  const call = async (name: string, args: unknown) => {
    const tool = world.tools[name];
    assert.ok(tool, \`the world has no tool \${name}\`);
    return tool.run(tool.input.parse(args), context);
  };
${
  before === ''
    ? ''
    : `  // Earlier calls that may have changed the world. Calls that failed when recorded may fail again.
  const before: [string, unknown][] = [
${before}  ];
  for (const [name, args] of before) await call(name, args).catch(() => undefined);
`
}${check(input, `call(${quoted(input.name)}, ${literal(input.arguments, 2)})`)}
  await world.close?.();
});
`;
}

const plain = `/** Returns a result as the model sees it. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

`;

function heading({ recorded, command }: TestCaseInput, imported: string): string {
  return `// A recorded call, ${recorded.replaceAll(/[\r\n\u2028\u2029]+/g, ' ')}.
// Run it with: ${command}
import assert from 'node:assert/strict';
import { test } from 'node:test';
${imported}
`;
}

function title({ name, arguments: args, error }: TestCaseInput): string {
  const outcome = error === undefined ? 'returns the recorded result' : `fails with ${error.class}`;
  const text = `${name} ${inline(args)} ${outcome}`;
  return quoted(text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text);
}

function contextOf({ seed }: TestCaseInput): string {
  return (
    `signal: new AbortController().signal, seed: ${seed}, cwd: process.cwd(), env: {}, secrets: {}, log() {}, ` +
    "progress() {}, ask: () => Promise.reject(new Error('Return what the model replies.'))"
  );
}

function check({ result, error }: TestCaseInput, call: string): string {
  if (error === undefined) return `  assert.deepEqual(plain(await ${call}), ${literal(result ?? null, 2)});`;
  // The message for invalid arguments depends on the validator.
  return error.class === 'invalid_arguments'
    ? `  await assert.rejects(${call});`
    : `  await assert.rejects(${call}, { message: ${quoted(error.message)} });`;
}

/** Renders a value as source code, on one line if it fits. */
function literal(value: Json, indent: number): string {
  const short = source(value, undefined, indent);
  return short.length <= WIDTH - indent ? short : source(value, 2, indent);
}

function source(value: Json, spaces: number | undefined, indent: number): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = indent + 2;
  const items = Array.isArray(value)
    ? value.map((item) => source(item, spaces, inner))
    : Object.entries(value).map(([key, member]) => `${keyOf(key)}: ${source(member, spaces, inner)}`);
  const [opening, closing] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return opening + closing;
  if (spaces === undefined) return Array.isArray(value) ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`;
  const one = `${opening} ${items.join(', ')} ${closing}`;
  if (one.length <= WIDTH - indent && !one.includes('\n')) return Array.isArray(value) ? `[${items.join(', ')}]` : one;
  return `${opening}\n${items.map((item) => `${' '.repeat(inner)}${item},\n`).join('')}${' '.repeat(indent)}${closing}`;
}

function keyOf(key: string): string {
  // A literal `__proto__` would set the prototype.
  if (key === '__proto__') return "['__proto__']";
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

function quoted(text: string): string {
  const body = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", "\\'")
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return `'${body}'`;
}
