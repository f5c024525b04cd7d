/** What `rollout … --help` shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandLine, refuseOtherOptions } from '../../../src/cli/command.ts';
import { SECTIONS, VERBS } from '../../../src/cli/commands/cluster/verbs.ts';
import { cluster } from '../../../src/cli/commands/cluster.ts';
import { GLOBAL_OPTIONS } from '../../../src/cli/commands.ts';
import { helpOf } from '../../../src/cli/help.ts';
import { StudioError } from '../../../src/common/errors.ts';

test('each verb of a command has a help with its own options', () => {
  const whole = helpOf(cluster, GLOBAL_OPTIONS);
  for (const verb of Object.keys(VERBS)) assert.match(whole, new RegExp(`^  ${verb} +[A-Z]`, 'm'));
  assert.doesNotMatch(whole, /--image/);
  const render = helpOf(cluster, GLOBAL_OPTIONS, 'render');
  assert.match(render, /^Options\n  --namespace NAME/m);
  assert.match(render, /^Model servers\n  --vllm MODEL/m);
  assert.doesNotMatch(render, /--delete-data/);
  assert.deepEqual(
    render.split('\n').filter((line) => line.length > 120),
    [],
  );
  assert.equal(helpOf(cluster, GLOBAL_OPTIONS, 'unknown'), whole);
});

test('every option of a cluster belongs to a verb, and to one heading at most', () => {
  const taken = new Set<string>(Object.values(VERBS).flatMap(({ options }) => options));
  assert.deepEqual(
    Object.keys(cluster.options).filter((name) => !taken.has(name)),
    [],
  );
  assert.deepEqual(
    [...taken].filter((name) => !Object.hasOwn(cluster.options, name)),
    [],
  );
  const placed: string[] = Object.values(SECTIONS).flat();
  assert.equal(new Set(placed).size, placed.length);
  assert.deepEqual(
    placed.filter((name) => !taken.has(name)),
    [],
  );
});

test('a verb refuses the options of others instead of ignoring them', () => {
  const line: CommandLine = { words: ['uninstall'], options: { 'dry-run': true } };
  assert.throws(
    () => refuseOtherOptions(cluster, 'uninstall', VERBS.uninstall, line),
    (error) => StudioError.is(error, 'usage') && error.message === 'rollout cluster uninstall has no option --dry-run.',
  );
});
