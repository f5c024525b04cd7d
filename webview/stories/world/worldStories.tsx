/** The World page in each of its states. */
import type { Json } from '../../../src/common/json.ts';
import { MAX_TABLE_ROWS, type TableRows, type WorldToPage } from '../../../src/protocol/worldPage.ts';
import { WorldPage } from '../../world/page/worldPage.tsx';
import { WorldSession } from '../../world/page/worldSession.ts';
import { story } from '../index.ts';
import { CODE, HEALTH, MANY_TABLES, MODULE, ROWS, VERIFIERS, WORLD } from './sampleWorld.ts';

/** Shows a page after these messages and actions. */
function page(...steps: readonly (WorldToPage | ((session: WorldSession) => void))[]) {
  let receive: (data: unknown) => void = () => undefined;
  const session = new WorldSession({
    post: () => undefined,
    listen: (listener) => {
      receive = listener;
    },
  });
  for (const step of steps) {
    if (typeof step === 'function') step(session);
    else receive(step);
  }
  return <WorldPage session={session} />;
}

const at =
  (change: Parameters<WorldSession['select']>[0]) =>
  (session: WorldSession): void =>
    session.select(change);
const world: WorldToPage = { type: 'world', details: WORLD };
const many: WorldToPage = { type: 'world', details: { ...WORLD, tables: [...MANY_TABLES] } };
const empty: WorldToPage = {
  type: 'world',
  details: {
    ...{ ...WORLD, tasks: [], tables: [], tools: [], code: { file: 'crowdfunding.py', lines: 0 }, canExtract: false },
    problems: ['gen_tasks.jsonl: there are no tasks for scenario crowdfunding'],
  },
};
const long: WorldToPage = {
  type: 'world',
  details: { ...WORLD, tables: WORLD.tables.map((table) => ({ ...table, rows: 2 * MAX_TABLE_ROWS })) },
};
/** As many rows as are read of a table. */
function manyRows(): TableRows {
  const row = (index: number): Json[] => [index, ...(ROWS.rows[index % ROWS.rows.length] ?? []).slice(1)];
  return { ...ROWS, rows: Array.from({ length: MAX_TABLE_ROWS }, (_, index) => row(index)), isPart: true };
}
const module: WorldToPage = { type: 'world', details: MODULE };

story('world', 'tasks', () => page(world));
story('world', 'schema', () => page(world, at({ tab: 'schema', table: 'campaigns' })));
story('world', 'schema-many', () => page(many, at({ tab: 'schema' })));
story('world', 'rows', () => page(world, { type: 'rows', rows: ROWS }, at({ tab: 'rows', table: 'campaigns' })));
story('world', 'rows-many', () =>
  page(long, { type: 'rows', rows: manyRows() }, at({ tab: 'rows', table: 'campaigns' })),
);
story('world', 'rows-loading', () => page(world, at({ tab: 'rows' })), { busy: true });
story('world', 'rows-none', () =>
  page(
    world,
    { type: 'rows', rows: { ...ROWS, rows: [], problem: '2 of 2 statements cannot be read.' } },
    at({ tab: 'rows', table: 'campaigns' }),
  ),
);
story('world', 'tools', () => page(world, at({ tab: 'tools' })));
story('world', 'code', () => page(world, { type: 'code', text: CODE }, at({ tab: 'code', codeLine: 12 })));
story('world', 'verifiers', () =>
  page(world, { type: 'verifiers', task: 0, verifiers: [...VERIFIERS] }, at({ tab: 'verifiers' })),
);
story('world', 'verifiers-none', () =>
  page(world, { type: 'verifiers', task: 4, verifiers: [] }, at({ tab: 'verifiers', task: 4 })),
);
story('world', 'health', () => page(world, { type: 'health', health: HEALTH, at: 0 }, at({ tab: 'health' })));
const aside: WorldToPage = {
  type: 'world',
  details: { ...WORLD, tasks: WORLD.tasks.map((task, index) => (index === 1 ? { ...task, isSetAside: true } : task)) },
};
const blamed: WorldToPage = {
  type: 'blamed',
  batch: 'b1',
  tasks: [{ task: WORLD.tasks[3]?.task ?? '3', attempts: 4, reasons: ['post_update answers 500 again and again'] }],
};
story('world', 'health-aside', () =>
  page(aside, blamed, { type: 'health', health: HEALTH, at: 0 }, at({ tab: 'health' })),
);
story('world', 'health-blaming', () =>
  page(aside, { type: 'health', health: HEALTH, at: 0 }, at({ tab: 'health' }), (session) => session.blame('b1')),
);
story('world', 'health-checking', () => page(world, at({ tab: 'health' }), (session) => session.check()), {
  busy: true,
});
story('world', 'health-again', () =>
  page(world, { type: 'health', health: HEALTH, at: 0 }, at({ tab: 'health' }), (session) => session.check()),
);
story('world', 'health-unchecked', () => page(world, at({ tab: 'health' })));
story('world', 'health-clean', () =>
  page(world, { type: 'health', health: { ...HEALTH, findings: [], strength: [] }, at: 0 }, at({ tab: 'health' })),
);
for (const tab of ['tasks', 'schema', 'rows', 'tools', 'code', 'verifiers'] as const)
  story('world', `empty-${tab}`, () => page(empty, at({ tab })));
story('world', 'module', () => page(module));
for (const tab of ['schema', 'tools', 'verifiers'] as const)
  story('world', `module-${tab}`, () => page(module, at({ tab })));
story('world', 'loading', () => page(), { busy: true });
story('world', 'problem', () =>
  page({ type: 'problem', text: 'There is no scenario harbor in data/awm.', hint: 'Similar: harbor_1.' }),
);
story('world', 'problem-later', () =>
  page(world, { type: 'problem', text: 'gen_db.jsonl:3: the row is cut off.', hint: 'Download the file again.' }),
);
