// Commands to one running rollout, by HTTP, and their record.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import type { Json } from '../../src/common/json.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { CommandReply, RolloutCommand } from '../../src/protocol/commands.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

let demo: WatchedDemo;
let workspace: Workspace;
let api: Api;
before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
  workspace.write(
    'notes.ts',
    `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const note = tool({ description: 'Notes.', input: z.object({ text: z.string() }), effect: 'pure', run: ({ text \
}) => 'noted ' + text });
`,
  );
  await workspace.json('batches'); // starts the server
  api = await workspace.api();
});
after(async () => {
  await workspace.close();
  await demo.close();
});

interface HeldRollout {
  readonly batch: string;
  readonly rollout: string;
  readonly hold: TraceEvent;
}

const QUESTION = 'call note {"text": "one"}\ncall note {"text": "two"}\nanswer {{last}}';

/** A rollout in a separate batch, held before its first tool call. */
async function held(name: string, options: { holdLimit?: string; answer?: string } = {}): Promise<HeldRollout> {
  demo.shut(name);
  const batch = await workspace.launch(name, {
    endpoint: demo.url,
    demo: 'latency_ms=200',
    gate: name,
    agent: { tools: [{ module: 'notes.ts' }] },
    tasks: [{ id: 'it', question: QUESTION, answer: options.answer ?? 'noted two' }],
    batch: options.holdLimit === undefined ? {} : { hold_limit: options.holdLimit },
  });
  await api.commandBatch(batch, {
    command: newId('c'),
    verb: 'breakpoints',
    args: { breakpoints: [{ id: 'p1', side: 'before', tool: 'note', hits: 1, once: true }] },
  });
  await workspace.waitForEvents(batch, (events) => events.some((event) => event.kind === 'control'));
  const started = await workspace.waitForRows(batch, (rows) => rows.some((one) => one.progress.steps > 0));
  assert.equal(started.length, 1);
  demo.open(name);
  const [row] = await workspace.waitForRows(batch, (rows) => rows.some((one) => one.state === 'held'));
  const rollout = row!.rollout;
  await api.commandBatch(batch, { command: newId('c'), verb: 'breakpoints', args: { breakpoints: [] } });
  return { batch, rollout, hold: ofKind(await workspace.events(rollout), 'hold')[0]! };
}

function command(
  rollout: string,
  verb: RolloutCommand['verb'],
  args: Json = {},
  more: Partial<RolloutCommand> = {},
): Promise<CommandReply> {
  return api.commandRollout(rollout, { command: newId('c'), verb, args, by: 'tester', ...more });
}

const at = (events: readonly TraceEvent[], seq: number | undefined): TraceEvent => events[(seq ?? 0) - 1]!;
const conflict =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    StudioError.is(error, 'conflict') && pattern.test(error.message);
const results = (events: readonly TraceEvent[]): unknown[] =>
  ofKind(events, 'message')
    .filter((event) => event.data.role === 'tool')
    .map((event) => event.data.parts[0])
    .map((part) => part?.type === 'tool_call_response' && part.response);

describe('commands to a rollout', { timeout: 480_000, concurrency: 4 }, () => {
  it('release continues; every command is a line of the batch, and a repeat returns the first response', async () => {
    const { batch, rollout, hold } = await held('release');
    assert.deepEqual(hold.kind === 'hold' && [hold.data.why, hold.data.side, hold.data.breakpoint], [
      'breakpoint',
      'before',
      'p1',
    ]);
    await assert.rejects(command(rollout, 'hold'), conflict(/already held/));
    await assert.rejects(command(rollout, 'answer', { value: 'yes' }), conflict(/is not waiting for an answer/));
    const last = (await api.rollout(rollout)).row.last;
    await assert.rejects(command(rollout, 'release', {}, { expect: { seq: last - 1 } }), (error) => {
      assert.ok(conflict(/moved on/)(error));
      assert.deepEqual((error as StudioError).details, { head: last });
      return true;
    });
    const once: RolloutCommand = { command: newId('c'), verb: 'release', by: 'tester', expect: { seq: last } };
    const reply = await api.commandRollout(rollout, once);
    assert.deepEqual(await api.commandRollout(rollout, once), reply);
    await workspace.ended(batch);
    const events = await workspace.events(rollout);
    const release = at(events, reply.seq);
    assert.deepEqual(release.kind === 'release' && [release.data.how, release.data.by, release.data.command], [
      'continue',
      'tester',
      once.command,
    ]);
    assert.deepEqual([endOf(events).answer, endOf(events).touched], ['noted two', false]);
    const commands = ofKind(await workspace.events(batch), 'control').filter((event) => event.data.rollout === rollout);
    assert.deepEqual(
      commands.map((event) => [event.data.verb, event.data.by]),
      [
        ['hold', 'tester'],
        ['answer', 'tester'],
        ['release', 'tester'],
      ],
    );
    await assert.rejects(command(rollout, 'hold'), conflict(/has already ended/));
  });

  it('step holds again at the next gate @deep', async () => {
    const { batch, rollout } = await held('step');
    const reply = await command(rollout, 'step');
    const events = await workspace.waitForEvents(rollout, (all) => ofKind(all, 'hold').length === 2);
    const release = at(events, reply.seq);
    assert.equal(release.kind === 'release' && release.data.how, 'step');
    const again = ofKind(events, 'hold')[1]!;
    assert.deepEqual(
      [again.data.why, again.data.side, again.span],
      ['step', 'after', ofKind(events, 'tool.start')[0]!.seq],
    );
    await command(rollout, 'step');
    const further = await workspace.waitForEvents(rollout, (all) => ofKind(all, 'hold').length === 3);
    assert.deepEqual(
      [ofKind(further, 'hold')[2]!.data.side, ofKind(further, 'hold')[2]!.span],
      ['before', ofKind(further, 'model.start')[1]!.seq],
    );
    await command(rollout, 'release');
    await workspace.ended(batch);
    assert.equal(endOf(await workspace.events(rollout)).passed, true);
  });

  it('edit changes a call before it runs and its result afterward; the attempt gets a fresh try', async () => {
    const { batch, rollout } = await held('edit');
    const start = ofKind(await workspace.events(rollout), 'tool.start')[0]!;
    const edited = await command(rollout, 'edit', {
      of: { seq: start.seq },
      path: '/arguments/text',
      value: 'changed',
    });
    await assert.rejects(
      command(rollout, 'edit', { of: { m: 1 }, path: '/parts/0/content', value: '' }),
      conflict(/The rollout is not held at/),
    );
    await command(rollout, 'step');
    const stepped = await workspace.waitForEvents(rollout, (all) => ofKind(all, 'hold').length === 2);
    assert.deepEqual(results(stepped), ['noted changed']);
    const end = ofKind(stepped, 'tool.end')[0]!;
    await command(rollout, 'edit', { of: { seq: end.seq }, path: '/parts/0/response', value: 'better' });
    await command(rollout, 'release');
    const rows = await workspace.ended(batch);
    const events = await workspace.events(rollout);
    const change = at(events, edited.seq);
    assert.deepEqual(change.kind === 'edit' && [change.data.of, change.data.path, change.data.value, change.data.by], [
      { seq: start.seq },
      '/arguments/text',
      'changed',
      'tester',
    ]);
    assert.deepEqual(results(events), ['noted changed', 'better', 'noted two']);
    // The model saw the edited result.
    const context = ofKind(events, 'model.start')[1]!.data.context.at(-1)!;
    assert.equal(context[1], ofKind(events, 'message').find((event) => event.data.origin === 'edited')!.data.m);
    assert.equal(endOf(events).touched, true);
    const row = rows.find((one) => one.rollout === rollout)!;
    assert.deepEqual([row.settles, row.progress.touched], [false, true]);
    assert.deepEqual(
      rows.filter((one) => one.settles).map((one) => [one.try, one.progress.passed]),
      [[2, true]],
    );
  });

  it('skip answers a call without making it @deep', async () => {
    const { batch, rollout } = await held('skip');
    const reply = await command(rollout, 'skip', { result: 'invented' });
    await workspace.ended(batch);
    const events = await workspace.events(rollout);
    const end = at(events, reply.seq);
    assert.deepEqual(end.kind === 'tool.end' && [end.data.status, end.data.source], ['ok', 'edited']);
    assert.deepEqual(results(events), ['invented', 'noted two']);
    assert.equal(endOf(events).touched, true);
  });

  it('inject puts a message before the next model call', async () => {
    const { batch, rollout } = await held('inject');
    const reply = await command(rollout, 'inject', {
      message: { role: 'user', parts: [{ type: 'text', content: 'answer injected' }] },
    });
    await assert.rejects(command(rollout, 'inject', { message: { role: 'tool', parts: [] } }), (error) =>
      StudioError.is(error, 'usage'),
    );
    await command(rollout, 'release');
    const rows = await workspace.ended(batch);
    const events = await workspace.events(rollout);
    const message = at(events, reply.seq);
    assert.deepEqual(message.kind === 'message' && [message.data.role, message.data.origin, message.data.from], [
      'user',
      'given',
      'tester',
    ]);
    assert.equal(endOf(events).answer, 'injected');
    assert.equal(rows.find((row) => row.rollout === rollout)!.progress.touched, true);
    const sent = demo.receivedRequests.some((body) => JSON.stringify(body['messages']).includes('answer injected'));
    assert.ok(sent, 'the model received it');
  });

  it('hold takes effect at the next gate, and a breakpoint continues by itself after hold_limit', async () => {
    const { batch, rollout } = await held('limit', { holdLimit: '1s' });
    const events = await workspace.waitForEvents(rollout, (all) => ofKind(all, 'release').length === 1);
    assert.deepEqual(ofKind(events, 'release')[0]!.data.how, 'expired');
    const reply = await command(rollout, 'hold');
    const hold = at(await workspace.events(rollout), reply.seq);
    assert.deepEqual(hold.kind === 'hold' && [hold.data.why, hold.data.by], ['pause', 'tester']);
    await command(rollout, 'release');
    await workspace.ended(batch);
    assert.equal(endOf(await workspace.events(rollout)).passed, true);
  });
});
