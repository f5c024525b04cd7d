// The trajectory page against a real server and worker: a breakpoint holds, an edit continues in place, another one
// creates a fork.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { wsSocket } from '../../src/client/subscribe.ts';
import { Observable } from '../../src/common/emitter.ts';
import type { EditorBreakpoint, ServerState } from '../../src/protocol/page.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { TrajectoryData } from '../../webview/data/trajectoryData.ts';
import type { Host } from '../../webview/host/host.ts';
import { PageBreakpoints } from '../../webview/trajectory/debug/breakpoints.ts';
import { RolloutControl } from '../../webview/trajectory/debug/control.ts';
import { currentHold, editsOf, editTargets, heldTargets } from '../../webview/trajectory/debug/edits.ts';
import { subjectAt } from '../../webview/trajectory/detail/subject.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

let demo: WatchedDemo;
let workspace: Workspace;
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
});
after(async () => {
  await workspace.close();
  await demo.close();
});

async function pageHost(): Promise<Host> {
  const connection = await connect({ store: workspace.bench.store, start: false });
  return {
    kind: 'story',
    start: new Promise(() => undefined),
    server: new Observable<ServerState>({ state: 'ok' }),
    onNavigate: () => ({ dispose: () => undefined }),
    breakpoints: new Observable<readonly EditorBreakpoint[]>([]),
    predictions: new Observable<Host['predictions']['value']>([]),
    transport: fetchTransport(() => connection.address()),
    openSocket: wsSocket(() => connection.address()),
    act: () => Promise.resolve(),
    setPlace: () => undefined,
  };
}

/** Once the page shows it. */
function until(data: TrajectoryData, what: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const listening = data.changed(() => {
      if (!what()) return;
      listening.dispose();
      resolve();
    });
    if (what()) {
      listening.dispose();
      resolve();
    }
  });
}

it('a breakpoint of the page holds; the held event is edited in place, an earlier one in a fork', {
  timeout: 180_000,
}, async () => {
  const api = await workspace.api();
  demo.shut('page');
  const batch = await workspace.launch('page', {
    endpoint: demo.url,
    demo: 'latency_ms=200',
    gate: 'page',
    agent: { tools: [{ module: 'notes.ts' }] },
    tasks: [
      {
        id: 'it',
        question: 'call note {"text": "one"}\ncall note {"text": "two"}\nanswer {{last}}',
        answer: 'noted two',
      },
    ],
  });
  const [row] = await workspace.waitForRows(batch, (rows) => rows.some((one) => one.progress.steps > 0));
  const rollout = row!.rollout;
  const data = new TrajectoryData(await pageHost(), rollout);
  const breakpoints = new PageBreakpoints(data, { readOnly: false, canEditor: false });
  const control = new RolloutControl(data);
  await until(data, () => data.batch !== undefined);
  await breakpoints.set({ on: 'tool', name: 'note' }, { when: 'tool.arguments.text == "two"' });
  await until(data, () => breakpoints.get({ on: 'tool', name: 'note' })?.armed === true);
  demo.open('page');

  await until(data, () => currentHold(data.model) !== undefined);
  const hold = currentHold(data.model)!;
  assert.equal(hold.event.data.breakpoint, 'page.tool.note');
  const [target] = heldTargets(data.model, hold);
  assert.equal(target?.kind, 'arguments');
  const { edits } = editsOf(target, new Map([['/arguments/text', 'edited']]));
  await control.apply(target, edits, '');
  await until(data, () => data.ended);
  const ended = endOf(await workspace.events(rollout));
  assert.deepEqual([ended.answer, ended.touched], ['noted edited', true]);

  const first = data.model.tools[0]!;
  const [, result] = editTargets(data.model, subjectAt(data.model, first.seq)!);
  assert.deepEqual([result?.kind, result?.where], ['result', 'fork']);
  const { batch: fork } = await control.fork(
    result!,
    editsOf(result!, new Map([['/result', 'noted otherwise']])).edits,
    2,
    false,
  );
  await workspace.ended(fork);
  const rows = (await api.rollouts(fork)).rollouts;
  assert.deepEqual(
    rows.map((one) => one.progress.status),
    ['done', 'done'],
  );
  const messages = ofKind(await workspace.events(rows[0]!.rollout), 'message').flatMap((event) => event.data.parts);
  assert.ok(
    messages.some((part) => part.type === 'tool_call_response' && part.response === 'noted otherwise'),
    'the fork saw the edited result',
  );
  data.forks.refresh();
  await until(data, () => data.forks.all.length === 1);
  assert.deepEqual([data.forks.all[0]?.batch, data.forks.all[0]?.parent.seq], [fork, result!.cut]);
  data.close();
});
