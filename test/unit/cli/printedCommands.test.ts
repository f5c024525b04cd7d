/**
 * Commands in messages about targets, batches, and healing work when copied: they exist with their options, and name
 * all that they act on. The tests of the cluster also run those that are printed there.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { parseArgs } from 'node:util';
import { parseOptions } from '../../../src/cli/command.ts';
import { commandNamed, GLOBAL_OPTIONS } from '../../../src/cli/commands.ts';
import { placed } from '../../../src/client/text/placed.ts';

const sources = path.resolve(import.meta.dirname, '../../../src');
const PRINTING = [
  'client/targets/**/*.ts',
  'executor/**/*.ts',
  'kubernetes/**/*.ts',
  'server/**/*.ts',
  'trace/incidents/*.ts',
];
const TARGET = { context: 'prod', namespace: 'rollouts' };
/** Words after `rollout` that name a command, and words that can follow in a sentence about a rollout. */
const ROLLOUT = /\brollout ([a-z]+)((?: (?:-{1,2})?[^\s.,;:)]+(?:\.[^\s.,;:)]+)*)*)/g;
const KUBECTL = /\bkubectl((?: [^\s,;)]+)+)/g;
/** What these verbs of kubectl act on, at least. */
const ARGUMENTS: Readonly<Record<string, RegExp>> = {
  delete: / delete \S+ \S+/,
  describe: / describe (?:pods?|scaledobject|hpa) (?:\S+|-l \S+)/,
  get: / get [a-zA-Z]+/,
  label: / label (?:--overwrite )?\S+ \S+ (?:\S+=\S*|VALUE)/,
  logs: / logs (?:deployment\/)?\S+/,
  scale: / scale deployment \S+ --replicas=\d+/,
  taint: / taint node \S+ (?:\S+=\S+:\S+|VALUE)/,
};
/** Of these, nothing is in a namespace. */
const CLUSTER_WIDE = / (?:nodes?|namespace|ingressclass|gateways -A)\b/;

/** Texts of a source as they are printed: literals that are joined, with a word for each value. */
function textsOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
    .replaceAll(/['"`]\s*\+\s*['"`]/g, '')
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'VALUE')
    .split('\n')
    .map((line) => placed(line.replaceAll("\\'", "'"), 'gpus', TARGET));
}

const lines = PRINTING.flatMap((pattern) => globSync(pattern, { cwd: sources })).flatMap((file) =>
  textsOf(path.join(sources, file)).map((text) => ({ file: file.replaceAll(path.sep, '/'), text })),
);

async function problemOf(name: string, rest: string): Promise<string | undefined> {
  const command = await commandNamed(name);
  if (command === undefined) return undefined; // a sentence about a rollout
  const words = rest
    .replaceAll(/[`'"]|\.['"`]*$/g, '')
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '');
  // The sentence goes on after the options.
  const end = words.findIndex((word, at) => /^(?:and|or|with|on|to|where|from)$/.test(word) && at > 0);
  try {
    parseArgs({
      args: end === -1 ? words : words.slice(0, end),
      options: parseOptions({ ...GLOBAL_OPTIONS, ...command.options }),
      allowPositionals: true,
    });
    return undefined;
  } catch (error) {
    return String(error);
  }
}

it('those of the command line exist with their options', async () => {
  const problems: string[] = [];
  let count = 0;
  for (const { file, text } of lines)
    for (const [all, name = '', rest = ''] of text.matchAll(ROLLOUT)) {
      const problem = await problemOf(name, rest);
      if (problem !== undefined) problems.push(`${file}: ${all}: ${problem}`);
      count += (await commandNamed(name)) === undefined ? 0 : 1;
    }
  assert.deepEqual(problems, []);
  assert.ok(count >= 25, `${count} commands`);
});

it('those that act on the cluster name the target', () => {
  const found = lines.flatMap(({ text }) => text.match(/\brollout cluster (?:install|upgrade)[^.,;)]*/g) ?? []);
  assert.ok(found.length >= 10, `${found.length} commands`);
  assert.deepEqual(
    found.filter((command) => !/ --target (?:gpus|VALUE)/.test(command)),
    [],
  );
});

it('those of kubectl name their object, the context, and the namespace', () => {
  const found = lines.flatMap(({ file, text }) =>
    [...text.matchAll(KUBECTL)].map(([all]) => ({ file, command: all.replace(/[.'"`]+$/, '') })),
  );
  const commands = found.filter(({ command }) => Object.keys(ARGUMENTS).some((verb) => command.includes(` ${verb} `)));
  assert.ok(commands.length >= 8, JSON.stringify(found));
  const problems = commands.filter(({ command }) => {
    const verb = Object.keys(ARGUMENTS).find((name) => command.includes(` ${name} `)) ?? '';
    const isPlaced = command.includes('--context prod') && (/ -n \S+/.test(command) || CLUSTER_WIDE.test(command));
    return ARGUMENTS[verb]?.test(command) !== true || !isPlaced;
  });
  assert.deepEqual(problems, []);
});
