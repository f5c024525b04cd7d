// Texts of models and tools cannot stop the worker, whatever they meet: patterns, schemas, templates.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import { joinedLines } from '../../../src/common/text.ts';
import type { AnswerRule } from '../../../src/config/submission.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { end, kit, ScriptedModel, ScriptedTools, submission } from '../../support/rolloutKit.ts';
import { member, team, teamKit } from '../../support/teamKit.ts';

/** Takes 2^60 steps of backtracking. */
const SLOW = '^(a+)+$';
const TEXT = `${'a'.repeat(60)}b`;

/** Runs a rollout whose final message is `text`. */
async function answered(rule: AnswerRule, text: string): Promise<TraceEvent[]> {
  const base = submission();
  return kit({
    job: { submission: { ...base, agent: { ...base.agent, answer: rule } } },
    model: new ScriptedModel([{ text }]),
  }).run();
}

/** Counts how often other work had its turn while `work` ran. */
async function turnsDuring<T>(work: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  const timer = setInterval(() => turns++, 10);
  try {
    return { result: await work, turns };
  } finally {
    clearInterval(timer);
  }
}

describe('the answer', { timeout: 120_000 }, () => {
  it('is not found by a search that takes too long, and other rollouts continue', async () => {
    const { result, turns } = await turnsDuring(answered({ kind: 'regex', regex: SLOW }, TEXT));
    const { status, answer, error } = end(result);
    assert.deepEqual([status, answer, error?.class], ['done', null, 'malformed_output']);
    assert.match(error?.message ?? '', /pattern \/\^\(a\+\)\+\$\/ took more than 1000 ms/);
    assert.ok(turns > 10, String(turns));
  });

  it('is found by many rollouts at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => answered({ kind: 'regex', regex: 'is (\\d+)' }, `it is ${at}`)),
    );
    assert.deepEqual(
      all.map((events) => end(events).answer),
      Array.from({ length: 20 }, (_, at) => String(at)),
    );
  });

  it('in a tag is found in linear time', async () => {
    const events = await answered({ kind: 'tag', tag: 'answer' }, `<answer>7</answer>${'<answer>'.repeat(400_000)}`);
    assert.equal(end(events).answer, '7');
  });
});

describe('the loop of a team member', { timeout: 120_000 }, () => {
  it('ends with an error if its rule takes too long', async () => {
    const members = [member('writer', { after: [], loop: { until: SLOW, most: 5 } })];
    const events = await teamKit(team('workflow', members), { writer: [{ text: TEXT }] }).run();
    const { answer, error } = end(events);
    assert.deepEqual([answer, error?.class], [null, 'malformed_output']);
  });
});

describe('the check of arguments', { timeout: 120_000 }, () => {
  const call = async (parameters: JsonObject, args: JsonObject): Promise<string | undefined> => {
    const tools = new ScriptedTools({ find: { parameters, run: () => 'found' } });
    const model = new ScriptedModel([{ calls: [{ name: 'find', arguments: args }] }, { text: 'done' }]);
    const events = await kit({ tools, model }).run();
    const done = events.find((event) => event.kind === 'tool.end');
    assert.equal(tools.calls.length, done?.data.status === 'ok' ? 1 : 0);
    return done?.data.error?.message;
  };
  const text = (member: JsonObject): JsonObject => ({
    type: 'object',
    properties: { text: { type: 'string', ...member } },
  });

  it('ends if a pattern of the tool takes too long', async () => {
    const { result, turns } = await turnsDuring(call(text({ pattern: SLOW }), { text: TEXT }));
    assert.equal(result, 'Checking the arguments took more than 1000 ms.');
    assert.ok(turns > 10, String(turns));
    const named = { type: 'object', patternProperties: { [SLOW]: { type: 'string' } } };
    assert.equal(await call(named, { [TEXT]: 'x' }), 'Checking the arguments took more than 1000 ms.');
  });

  it('ends if it compares or repeats too much', async () => {
    const unique = { type: 'object', properties: { items: { type: 'array', uniqueItems: true } } };
    const items = Array.from({ length: 200_000 }, (_, at) => ({ at }));
    assert.equal(await call(unique, { items }), 'Checking the arguments took more than 1000 ms.');
    const tree: JsonObject = {
      type: 'object',
      properties: { next: { allOf: [{ $ref: '#' }, { $ref: '#' }] } },
    };
    let nested: JsonObject = {};
    for (let depth = 0; depth < 40; depth++) nested = { next: nested };
    assert.equal(await call(tree, nested), 'Checking the arguments took more than 1000 ms.');
  });

  it('has the same result as ever if it is fast', async () => {
    assert.equal(await call(text({ pattern: '^a+$' }), { text: 'aaa' }), undefined);
    assert.match((await call(text({ pattern: '^a+$' }), { text: 'b' })) ?? '', /do not match its schema: text/);
    assert.equal(await call(text({ format: 'email' }), { text: 'a@example.com' }), undefined);
  });
});

describe('a text on one line', { timeout: 60_000 }, () => {
  it('joins its lines', () => {
    assert.equal(joinedLines(' a  b \n\n\t c\n', ' ⏎ '), ' a  b ⏎ c ⏎ ');
  });

  it('takes linear time for long runs of spaces', () => {
    const text = `a${' '.repeat(1_000_000)}b`;
    assert.equal(joinedLines(text, ' '), text);
  });
});
