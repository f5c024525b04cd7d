/** Links, paths, commands, options, and titles that the documentation names exist. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { allCommands, commandNamed, GLOBAL_OPTIONS } from '../../../src/cli/commands.ts';
import { COMMANDS as EDITOR_COMMANDS } from '../../../src/host/contributions/commands.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const files = globSync(['*.md', 'docs/**/*.md', '.github/**/*.md'], { cwd: root }).filter(
  (file) => file !== 'CHANGELOG.md',
);
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));

const commands = await allCommands();

/** GitHub's anchors of headings. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const problems = (file: string, check: (line: string) => readonly string[]): string[] =>
  read(file)
    .split('\n')
    .flatMap((line, index) => check(line).map((problem) => `${file}:${index + 1}: ${problem}`));

function brokenLinks(file: string, line: string): string[] {
  return [...line.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [to = '', anchor] = target.split('#');
    const full = to === '' ? file : path.join(path.dirname(file), to);
    if (!existsSync(path.join(root, full))) return [`${target} does not exist`];
    return anchor === undefined || anchors(read(full)).includes(anchor) ? [] : [`${target}: no such heading`];
  });
}

/** Paths in backticks that begin with a folder of the repository. */
function missingPaths(line: string): string[] {
  return [...line.matchAll(/`((?:src|test|webview|media|docs|\.ci|\.github)(?:\/[\w.*-]*)*)`/g)].flatMap(
    ([, name = '']) => (globSync(name, { cwd: root }).length > 0 ? [] : [`${name} does not exist`]),
  );
}

function missingScripts(line: string): string[] {
  return [...line.matchAll(/npm run (?:-s )?([\w:-]+)/g)].flatMap(([, name = '']) =>
    Object.hasOwn(scripts, name) ? [] : [`there is no script ${name}`],
  );
}

/** `rollout COMMAND --option …`, in backticks or in a block of code. */
function wrongCommands(line: string): string[] {
  return [...line.matchAll(/(?:`|^)rollout ([a-z]+)([^`]*)/g)].flatMap(([, name = '', rest = '']) => {
    const command = commands.find((one) => one.name === name);
    if (command === undefined) return [`there is no command rollout ${name}`];
    const own = rest.split(' -- ')[0] ?? ''; // what follows is for another program
    return [...own.matchAll(/(?<![\w-])--([a-z][\w-]*)/g)].flatMap(([, option = '']) =>
      option in command.options || option in GLOBAL_OPTIONS ? [] : [`rollout ${name} has no option --${option}`],
    );
  });
}

const titles = new Set(Object.values(EDITOR_COMMANDS).map(({ title }) => title as string));
function wrongTitles(line: string): string[] {
  return [...line.matchAll(/\*\*Rollout: ([^*]+)\*\*/g)].flatMap(([, title = '']) =>
    titles.has(title) ? [] : [`there is no command “${title}”`],
  );
}

it('every command is found by its name', async () => {
  for (const command of commands) assert.equal(await commandNamed(command.name), command, command.name);
  assert.equal(await commandNamed('nothing'), undefined);
});

describe('the documentation', () => {
  it('has links to existing targets', () => {
    assert.deepEqual(
      files.flatMap((file) => problems(file, (line) => brokenLinks(file, line))),
      [],
    );
  });

  it('names paths, scripts, commands, options, and titles that exist', () => {
    const checks = [missingPaths, missingScripts, wrongCommands, wrongTitles];
    assert.deepEqual(
      files.flatMap((file) => problems(file, (line) => checks.flatMap((check) => check(line)))),
      [],
    );
  });

  it('has a README of at most 200 lines', () => {
    assert.ok(read('README.md').split('\n').length <= 200);
  });
});
