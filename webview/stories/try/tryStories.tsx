/** The “Try Tool…” panel in each of its states. */
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { ListedTool, TriedCall, TryToPage, TryWorld } from '../../../src/protocol/tryPage.ts';
import { TryPage } from '../../try/tryPage.tsx';
import { TrySession } from '../../try/trySession.ts';
import { story } from '../index.ts';

const FIELDS: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['query', 'branch', 'copies', 'renew', 'authors', 'due', 'address', 'sort'],
  properties: {
    query: { type: 'string', description: 'Words of the title, of the author or of the text on the back.' },
    branch: { enum: ['centre', 'harbour', 'university'], description: 'Where it is looked for.' },
    copies: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    renew: { type: 'boolean', description: 'Renews what is lent already.' },
    due: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }], description: 'Until when it is needed.' },
    authors: { type: 'array', items: { type: 'string', maxLength: 80 }, minItems: 1 },
    address: {
      type: 'object',
      required: ['street', 'city'],
      properties: {
        street: { type: 'string', maxLength: 80 },
        city: { type: 'string', maxLength: 80 },
        floor: { type: 'integer' },
      },
    },
    sort: {
      oneOf: [
        { title: 'by year', type: 'object', required: ['year'], properties: { year: { enum: ['up', 'down'] } } },
        { title: 'by title', type: 'object', required: ['title'], properties: { title: { type: 'boolean' } } },
      ],
    },
    loud: { type: 'boolean' },
    rest: { type: 'object', additionalProperties: true, description: 'Whatever the library’s own search takes.' },
  },
};
const SEARCH: ListedTool = {
  name: 'search_catalogue',
  description: 'Looks for books in the catalogue of all branches.\nGives the nearest ten.',
  effect: 'pure',
  parameters: FIELDS,
  from: { kind: 'module', name: 'tools/catalogue.ts' },
  output: { type: 'object', properties: { books: { type: 'array' } } },
};
const SHORT: ListedTool = {
  ...SEARCH,
  effect: 'irreversible',
  parameters: {
    type: 'object',
    required: ['query'],
    properties: { query: { type: 'string' }, most: { type: 'integer', minimum: 1 } },
  },
};
const ARGUMENTS: JsonObject = {
  query: 'The harbour\nat night',
  branch: 'harbour',
  copies: 2,
  renew: true,
  due: '2026-03-01',
  authors: ['M. Tide', 'A. Quay'],
  address: { street: '1 Pier Road', city: 'Port' },
  sort: { year: 'down' },
  rest: { shelf: 'B', near: ['C', 'D'] },
};
const BOOKS: Json = {
  books: [
    { title: 'Tides', year: 1994, copies: 3, lent: false },
    { title: 'The Quay at Night', year: 2003, copies: 1, lent: true },
    { title: 'Harbour Lights', year: 2017, copies: 2, lent: false },
  ],
};
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGNgGAWjYBSMglEwCkbBKAAABBAAAUkLcJ8AAAAASUVORK5CYII=';
const ok = (result: Json, more: Partial<TriedCall> = {}): TriedCall => ({
  status: 'ok',
  result,
  ms: 41.7,
  log: '',
  ...more,
});
const failure: TriedCall = {
  status: 'error',
  ms: 12.1,
  log: 'asking the harbour branch\n\u001b[33mit is slow today\u001b[0m\n',
  error: {
    class: 'tool_error',
    message: 'the branch “harbour” has no catalogue',
    stack:
      'Error: no\n    at branchOf (tools/catalogue.ts:31:11)\n    at run (tools/catalogue.ts:12:18)\n    at ' +
      'node:internal/process:1:1',
    place: { file: 'tools/catalogue.ts', line: 31, column: 11 },
  },
};

/** Shows a panel after these messages and actions. `run` presses Run. */
function panel(...steps: readonly (TryToPage | 'run' | ((session: TrySession) => void))[]) {
  let receive: (data: unknown) => void = () => undefined;
  const session = new TrySession({
    post: () => undefined,
    listen: (listener) => {
      receive = listener;
    },
  });
  for (const step of steps) {
    if (step === 'run') session.run();
    else if (typeof step === 'function') step(session);
    else receive(step);
  }
  return <TryPage session={session} />;
}

const tool = (of: ListedTool, args?: JsonObject, problem?: string): Extract<TryToPage, { type: 'tool' }> => ({
  type: 'tool',
  tool: of,
  file: 'tools/catalogue.ts',
  worlds: [],
  ...(args === undefined ? {} : { arguments: args }),
  ...(problem === undefined ? {} : { problem }),
});
/** Lines that a running tool prints. */
const printed = (...texts: readonly string[]): TryToPage[] => texts.map((text) => ({ type: 'output', text }));
const MANY = Array.from({ length: 60 }, (_, index) => `shelf ${index + 1} of 80: ${(index * 7) % 23} books`);
const called = (call: TriedCall): TryToPage => ({ type: 'result', call });

const RENEW: ListedTool = {
  name: 'renew_loan',
  description: 'Renews one loan by 14 days.',
  effect: 'restorable',
  parameters: {
    type: 'object',
    required: ['loan_id'],
    properties: { loan_id: { type: 'string', description: 'Id of a loan, from list_loans' } },
  },
  from: { kind: 'module', name: 'tools/loans.ts' },
};
const WORLDS: readonly TryWorld[] = [
  {
    batch: '/w/batches/desk.batch.yaml',
    name: 'batches/desk.batch.yaml',
    tasks: ['renew-one', 'return-one', 'a-request-of-two-members-at-once'],
    more: false,
  },
  {
    batch: '/w/batches/all-branches-of-the-county.batch.yaml',
    name: 'batches/all-branches-of-the-county.batch.yaml',
    tasks: ['renew-one'],
    more: true,
  },
];
const LOAN = {
  id: 'L-3001',
  copy_id: 'C-201-1',
  member_id: 'M-1001',
  borrowed: '2026-02-16',
  due: '2026-03-20',
  renewals: 0,
  returned: null,
};
const RENEWED: Partial<TriedCall> = {
  world: { name: 'library', task: 'renew-one' },
  changes: [
    { table: 'loans', key: 'L-3001', op: 'update', before: LOAN, after: { ...LOAN, due: '2026-04-03', renewals: 1 } },
    { table: 'reminders', key: 'R-7', op: 'delete', before: { id: 'R-7', loan: 'L-3001' } },
  ],
};
const renew = (worlds: readonly TryWorld[] = WORLDS): TryToPage => ({
  type: 'tool',
  tool: RENEW,
  file: 'tools/loans.ts',
  worlds: [...worlds],
  arguments: { loan_id: 'L-3001' },
});
const stateless: TriedCall = {
  status: 'error',
  ms: 3,
  log: '',
  needs_world: true,
  error: {
    class: 'tool_error',
    message: '`state` is undefined because no world is open: Cannot read properties of undefined (reading ‘renew’)',
    stack: 'TypeError: no\n    at run (tools/loans.ts:20:59)',
    place: { file: 'tools/loans.ts', line: 20, column: 59 },
  },
};

story('try', 'new', () => panel(tool(SEARCH)));
story('try', 'recorded', () =>
  panel({
    ...tool(RENEW),
    worlds: [...WORLDS],
    recorded: [{ loan_id: 'L-3002' }, { loan_id: 'L-3001' }, { loan_id: 'L-3017' }],
  }),
);
story('try', 'touched', () =>
  panel(tool(SEARCH, { ...ARGUMENTS, copies: 12, authors: [] }), (session) => session.touch(['copies'])),
);
story('try', 'filled', () => panel(tool(SEARCH, ARGUMENTS)));
story('try', 'problems', () =>
  panel(tool(SEARCH, { ...ARGUMENTS, copies: 12, authors: [], due: 'soon', address: { street: '' }, page: 2 }), 'run'),
);
story('try', 'json', () => panel(tool(SEARCH, { ...ARGUMENTS, copies: 'two' }), (session) => session.editAsText(true)));
story(
  'try',
  'running',
  () => panel(tool(SHORT, { query: 'tides' }), 'run', ...printed('asking the harbour branch', '2 of 3 branches')),
  { busy: true },
);
story('try', 'printing', () => panel(tool(SHORT, { query: 'tides' }), 'run', ...printed(...MANY)), { busy: true });
story('try', 'cancelled', () =>
  panel(tool(SHORT, { query: 'tides' }), 'run', ...printed(...MANY, 'rollout: interrupted'), {
    type: 'noResult',
    why: 'cancelled',
    text: 'Cancelled.',
  }),
);
story('try', 'failed', () =>
  panel(
    tool(SHORT, { query: 'tides' }),
    'run',
    ...printed('\u001b[32mreading the shelves\u001b[0m', 'rollout: The library does not answer.'),
    { type: 'noResult', why: 'failed', text: 'The library does not answer.' },
  ),
);
story('try', 'result', () =>
  panel(
    tool(SHORT, { query: 'tides' }),
    'run',
    called(ok(BOOKS, { log: 'asking the harbour branch\n', retries: [{ class: 'timeout' }] })),
  ),
);
story('try', 'tries', () =>
  panel(
    tool(SHORT, { query: 'tides' }),
    'run',
    called(ok((BOOKS as { books: Json }).books)),
    'run',
    { type: 'noResult', why: 'cancelled', text: 'Cancelled.' },
    'run',
    called(failure),
    'run',
    {
      type: 'noResult',
      why: 'failed',
      text: 'The tools use ${env:LIBRARY_KEY}, and the environment has no value for it.',
    },
    (session) => session.select(1),
  ),
);
story('try', 'error', () =>
  panel(tool(SHORT, { query: 'tides' }, 'tools/catalogue.ts:4: “)” expected.'), 'run', called(failure)),
);
story('try', 'picture', () =>
  panel(
    tool({ ...SHORT, parameters: { type: 'object', properties: {} } }),
    'run',
    called(
      ok('a map of the branch', {
        files: [
          { mime_type: 'image/png', content: PIXEL },
          { mime_type: 'audio/wav', content: PIXEL },
        ],
      }),
    ),
  ),
);
story('try', 'world', () => panel(renew(), 'run', called(ok({ loan_id: 'L-3001', due: '2026-04-03' }, RENEWED))));
story('try', 'world-entered', () =>
  panel(
    renew(),
    (session) => session.chooseWorld(WORLDS[1]?.batch),
    (session) => session.chooseTask('renew-late'),
    'run',
    called({ ...failure, ...RENEWED }),
  ),
);
story('try', 'no-world', () => panel(renew(), (session) => session.chooseWorld(undefined), 'run', called(stateless)));
