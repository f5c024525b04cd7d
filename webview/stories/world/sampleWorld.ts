/** Sample worlds for stories. */
import type { ScenarioHealth } from '../../../src/common/worldHealth.ts';
import type { TableRows, TaskVerifier, WorldDetails, WorldTable } from '../../../src/protocol/worldPage.ts';

type Column = readonly [name: string, type?: string];

/** A column `X_id` refers to the table of the same name. */
function table(name: string, rows: number, columns: readonly Column[]): WorldTable {
  return {
    name,
    rows,
    columns: columns.map(([column, type = 'TEXT']) => ({
      name: column,
      type,
      isKey: column === 'id',
      isRequired: column === 'id',
    })),
    foreignKeys: columns.flatMap(([column, , target = TARGETS[column]]: readonly [string, string?, string?]) =>
      target === undefined ? [] : [{ columns: [column], table: target, references: ['id'] }],
    ),
  };
}

const TARGETS: Readonly<Record<string, string>> = {
  owner_id: 'users',
  user_id: 'users',
  campaign_id: 'campaigns',
  category_id: 'categories',
  parent_id: 'categories',
  donation_id: 'donations',
  payout_id: 'payouts',
};
const ID: Column = ['id', 'INTEGER'];
const int = (name: string): Column => [name, 'INTEGER'];

export const TABLES: readonly WorldTable[] = [
  table('users', 24, [ID, ['name'], ['email'], ['payout_account']]),
  table('categories', 8, [ID, ['name'], int('parent_id')]),
  table('campaigns', 18, [
    ...[ID, int('owner_id'), int('category_id'), ['title'] as const, int('goal_cents'), int('raised_cents')],
    ...[int('donor_count'), ['status'] as const],
  ]),
  table('donations', 139, [
    ...[ID, int('campaign_id'), int('user_id'), int('amount_cents'), ['message'] as const],
    ['created_at', 'DATETIME'],
  ]),
  table('updates', 6, [ID, int('campaign_id'), ['body']]),
  table('follows', 31, [int('user_id'), int('campaign_id')]),
];

/** A schema as large as published ones are. */
export const MANY_TABLES: readonly WorldTable[] = [
  ...TABLES,
  table('payouts', 12, [ID, int('campaign_id'), int('amount_cents'), ['state'], ['paid_at', 'DATETIME']]),
  table('payout_items', 44, [ID, int('payout_id'), int('donation_id'), int('amount_cents')]),
  table('refunds', 3, [ID, int('donation_id'), ['reason'], ['created_at', 'DATETIME']]),
  table('receipts', 80, [ID, int('donation_id'), ['number'], ['sent_to_the_address_of_the_donor_at', 'DATETIME']]),
  table('comments', 57, [ID, int('campaign_id'), int('user_id'), ['body']]),
  table('badges', 9, [ID, ['name'], ['icon']]),
  ...['sessions', 'addresses', 'notifications', 'messages', 'reports', 'sponsors', 'events', 'tickets'].map((name) =>
    table(name, 10, [ID, int('user_id'), ['state'], ['notes'], ['created_at', 'DATETIME']]),
  ),
  table(
    'settings',
    1,
    Array.from({ length: 30 }, (_, index): Column => (index === 0 ? ID : [`option_${index}`, 'BOOLEAN'])),
  ),
];

const TASKS = [
  'Give $50 to the library roof campaign as Maya Torres, with a note.',
  'Change the monthly pledge of Jonas Lind from $10 to $15, starting with the next payment.',
  'Close the campaign “New boiler for the night shelter”, which has reached its goal.',
  'Thank the five largest donors of the flood relief campaign in one update that names all of them.',
  'How much did the campaign “Instruments for the youth band” raise in the last 30 days?',
];

export const WORLD: WorldDetails = {
  world: 'fundraising',
  title: 'crowdfunding',
  kind: 'code',
  format: 'Agent World Model',
  file: 'worlds/fundraising.world.yaml',
  scenario: 'crowdfunding',
  description: 'A site where people collect money for campaigns, and others give to them.',
  tasks: TASKS.map((text, index) => ({ id: String(index), text, verifiers: index === 4 ? ['SQL'] : ['code', 'SQL'] })),
  tables: [...TABLES],
  tools: [
    {
      name: 'create_donation',
      request: 'POST /campaigns/{campaign_id}/donations',
      summary: 'Donates to a campaign',
      description: 'Donates to a campaign as a user. The campaign must be open.',
      line: 12,
      parameters: {
        type: 'object',
        required: ['campaign_id', 'amount_cents'],
        properties: {
          campaign_id: { type: 'integer', description: 'The campaign, from search_campaigns', in: 'path' },
          amount_cents: { type: 'integer', description: 'At least 100', in: 'body', examples: [5000] },
          message: { type: 'string', description: 'Shown next to the donation', in: 'body' },
        },
      },
    },
    {
      name: 'search_campaigns',
      request: 'GET /campaigns',
      summary: 'Finds campaigns by title, category, or status, newest first, in pages of twenty',
      description: '',
      line: 4,
      parameters: { type: 'object', properties: {} },
    },
  ],
  code: { file: 'crowdfunding.py', lines: 60 },
  last: { batch: 'b-1', name: 'fundraising', text: 'pass@1 0.41' },
  problems: [],
  canExtract: true,
};

export const CODE = Array.from({ length: 60 }, (_, index) =>
  index % 8 === 3
    ? `@app.post("/campaigns/{campaign_id}/donations", operation_id="create_donation"${', tags=["a"]'.repeat(3)})`
    : `    value_${index} = session.query(Campaign).filter(Campaign.id == ${index})  # line ${index + 1}`,
).join('\n');

export const ROWS: TableRows = {
  table: 'campaigns',
  columns: ['id', 'owner_id', 'category_id', 'title', 'goal_cents', 'raised_cents', 'donor_count', 'status'],
  rows: Array.from({ length: 400 }, (_, index) => [
    ...[index + 1, (index % 24) + 1, (index % 8) + 1],
    index % 9 === 8
      ? 'A title that is so long that it does not fit into its column of the table of rows'
      : `Roof ${index}`,
    ...[800_000 + index, 512_400, 41, index % 5 === 4 ? { sql: "datetime('now', '-3 days')" } : 'open'],
  ]),
};

export const VERIFIERS: readonly TaskVerifier[] = [
  {
    kind: 'code',
    part: 'codeVerifier',
    function: 'verify_task_completion',
    success: 'There is one more donation of 5000 cents by user 12.',
    failure: 'No donation was added, or another one was changed.',
    reasoning: 'The donation and the sum of the campaign must agree.',
    text: [
      'def verify_task_completion(initial, final, answer):',
      '    rows = final.execute("select * from donations")',
      '    return {"result": "complete"}',
    ].join('\n'),
  },
  {
    kind: 'SQL',
    part: 'sqlVerifier',
    function: 'verify_task',
    text: 'def verify_task(initial, final):\n    return {}',
  },
];

export const HEALTH: ScenarioHealth = {
  scenario: 'crowdfunding',
  ran: ['static', 'started', 'verifier', 'strength'],
  findings: [
    {
      kind: 'complete_at_start',
      severity: 'error',
      message: 'Verifier 3 reports complete on the untouched state.',
      hint: 'An agent that does nothing would pass. Check that a new update names all five donors.',
      place: { file: 'gen_verifier.pure_code.jsonl', line: 18, column: 1 },
      source: { part: 'codeVerifier', task: 3, line: 18, column: 5 },
      task: 3,
    },
    {
      kind: 'optional_null',
      severity: 'warning',
      message: '`limit` is optional but fails when it is null.',
      hint: 'Give it a default: `limit: int = 20`.',
      place: { file: 'gen_envs.jsonl', line: 1, column: 1 },
      source: { part: 'code', line: 97, column: 1 },
    },
    {
      kind: 'duplicate',
      severity: 'warning',
      message: 'Two rows have the name crowdfunding.',
      hint: 'Remove one of them.',
      place: { file: 'gen_scenario.jsonl', line: 7, column: 1 },
    },
  ],
  strength: TASKS.slice(0, 3).map((_, task) => ({
    ...{ task, verifier: 'code' as const, from: 'the recorded solution', mutants: 12, rejected: [12, 3, 9][task] ?? 0 },
    accepted: task === 1 ? ['updates 7 as before'] : [],
  })),
};

/** A world of the sample workspace. */
export const MODULE: WorldDetails = {
  world: 'library',
  title: 'library',
  kind: 'module',
  file: 'worlds/library.world.yaml',
  description: '',
  tasks: [
    { id: 'renew-one', text: 'Mira Okafor would like to keep her book for longer.', verifiers: ['verify'] },
    { id: 'return-one', text: 'Jonas Lind brings back “Night Ferry”.', verifiers: ['verify'] },
  ],
  tables: [],
  tools: [
    {
      name: 'renew_loan',
      summary: 'Renews one loan by 14 days.',
      description: 'Renews one loan by 14 days.',
      line: 20,
      file: '/w/tools/loans.ts',
    },
  ],
  code: { file: 'worlds/library.ts', lines: 60 },
  problems: [],
  canExtract: false,
};
