import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { OpenSample, sampleTasks } from '../../support/sampleWorkspace.ts';

const tasks = sampleTasks();
const task = (id: string): (typeof tasks)[number] => tasks.find((each) => each.id === id) ?? assert.fail(id);

async function withLibrary(id: string, use: (library: OpenSample) => Promise<void>): Promise<void> {
  const library = await OpenSample.open(task(id));
  try {
    await use(library);
  } finally {
    library.close();
  }
}

async function ok(library: OpenSample, name: string, args: Record<string, string>): Promise<Json> {
  const result = await library.call(name, args);
  return 'ok' in result ? result.ok : assert.fail(`${name}: ${result.error}`);
}

describe('the tasks', () => {
  it('are twelve, of three levels, with unique IDs', () => {
    assert.equal(new Set(tasks.map(({ id }) => id)).size, 12);
    assert.deepEqual(
      [1, 2, 3].map((level) => tasks.filter((each) => each.level === level).length),
      [4, 4, 4],
    );
  });
  it('fail on the untouched library, unless nothing is to be changed', async () => {
    for (const { id, answer } of tasks) {
      await withLibrary(id, (library) => {
        const nothingToDo = id === 'fines-total' || id === 'renew-refused';
        assert.equal(library.verify(answer ?? null).passed, nothingToDo, id);
        if (nothingToDo) assert.equal(library.verify('something else').passed, false);
        return Promise.resolve();
      });
    }
  });
});

describe('the rules of the desk', () => {
  const refusals: readonly (readonly [string, string, Record<string, string>, RegExp])[] = [
    ['no third renewal', 'renew_loan', { loan_id: 'L-3015' }, /renewed 2 times/],
    ['no renewal while others wait', 'renew_loan', { loan_id: 'L-3010' }, /another member waits/],
    ['no renewal without a loan', 'renew_loan', { loan_id: 'L-9999' }, /no open loan/],
    ['no loans to debtors', 'check_out', { member_id: 'M-1007', book_id: 'B-205' }, /owes 7.20/],
    ['no loans without a copy', 'check_out', { member_id: 'M-1003', book_id: 'B-204' }, /no copy .* is free/],
    ['no hold on an available book', 'place_hold', { member_id: 'M-1003', book_id: 'B-203' }, /can be checked out/],
    ["no hold on one's own loan", 'place_hold', { member_id: 'M-1008', book_id: 'B-206' }, /on loan/],
    ['no second hold', 'place_hold', { member_id: 'M-1017', book_id: 'B-206' }, /already/],
    ['no fine paid twice', 'pay_fine', { fine_id: 'F-503' }, /was paid on 2026-01-12/],
    ['no unknown members', 'list_loans', { member_id: 'M-1' }, /no member M-1/],
    ['IDs have a format', 'list_loans', { member_id: 'Mira' }, /a member ID like M-1001/],
  ];
  let library: OpenSample;
  before(async () => void (library = await OpenSample.open(task('renew-one'))));
  after(() => library.close());

  for (const [name, tool, args, why] of refusals) {
    it(name, async () => {
      const result = await library.call(tool, args);
      assert.match('error' in result ? result.error : 'done', why);
      assert.deepEqual(library.diff(), [], 'nothing changed');
    });
  }
  it('limit loans to five books', () =>
    withLibrary('borrow-one', async (full) => {
      for (const book_id of ['B-203', 'B-205', 'B-212', 'B-218'])
        await ok(full, 'check_out', { member_id: 'M-1003', book_id });
      const sixth = await full.call('check_out', { member_id: 'M-1003', book_id: 'B-221' });
      assert.match('error' in sixth ? sixth.error : '', /5 loans, which is the limit/);
    }));
  it('renew from the due date, or from today when that has passed', () =>
    withLibrary('renew-one', async (open) => {
      assert.deepEqual(await ok(open, 'renew_loan', { loan_id: 'L-3001' }), {
        loan_id: 'L-3001',
        title: 'The Salt Road',
        due: '2026-04-03',
        renewals: 1,
      });
      assert.deepEqual(await ok(open, 'renew_loan', { loan_id: 'L-3006' }), {
        loan_id: 'L-3006',
        title: 'Letters to a Lighthouse',
        due: '2026-03-30',
        renewals: 1,
      });
    }));
  it('keep a returned book for the longest waiting member, and lend it to nobody else', () =>
    withLibrary('hand-over', async (open) => {
      const back = await ok(open, 'return_book', { loan_id: 'L-3012' });
      assert.deepEqual(back, {
        loan_id: 'L-3012',
        title: "The Cartographer's Debt",
        returned: '2026-03-16',
        fine: { fine_id: 'F-510', amount: '1.80' },
        kept_for: { member_id: 'M-1010', name: 'Ines Duarte' },
      });
      const other = await open.call('check_out', { member_id: 'M-1003', book_id: 'B-207' });
      assert.match('error' in other ? other.error : '', /no copy/);
      await ok(open, 'check_out', { member_id: 'M-1010', book_id: 'B-207' });
    }));
});

describe('diff', () => {
  it('returns each changed row once, with before and after', () =>
    withLibrary('hand-over', async (library) => {
      await ok(library, 'list_loans', { member_id: 'M-1009' });
      assert.deepEqual(library.diff(), []);
      await ok(library, 'return_book', { loan_id: 'L-3012' });
      const changes = library.diff();
      assert.deepEqual(
        changes.map(({ table, key, op }) => [table, key, op]),
        [
          ['loans', 'L-3012', 'update'],
          ['fines', 'F-510', 'insert'],
          ['holds', 'H-402', 'update'],
        ],
      );
      const [loan, fine] = changes as unknown as { before?: Record<string, Json>; after?: Record<string, Json> }[];
      assert.deepEqual([loan!.before!['returned'], loan!.after!['returned']], [null, '2026-03-16']);
      assert.deepEqual([fine!.before, fine!.after!['cents']], [undefined, 180]);
      assert.deepEqual(library.diff(), []);
    }));
});

describe('snapshot', () => {
  it('restores rows, journal, and new IDs', () =>
    withLibrary('hand-over', async (library) => {
      await ok(library, 'return_book', { loan_id: 'L-3012' });
      const fork = await OpenSample.open(library.task, { from: library.snapshot() });
      try {
        assert.deepEqual(fork.snapshot(), library.snapshot());
        assert.deepEqual(fork.diff(), [], 'what happened before is not reported again');
        for (const each of [library, fork]) {
          await ok(each, 'pay_fine', { fine_id: 'F-510' });
          assert.equal(
            ((await ok(each, 'check_out', { member_id: 'M-1010', book_id: 'B-207' })) as { loan_id: string }).loan_id,
            'L-3039',
          );
          assert.deepEqual(
            each.verify('2026-04-06').checks?.map(({ name, passed }) => [name, passed]),
            [
              ['loans L-3012', true],
              ['new fines', true],
              ['holds H-402', true],
              ['new loans', true],
              ['nothing else changed', true],
              ['answer', true],
            ],
          );
        }
      } finally {
        fork.close();
      }
    }));
});

describe('the seed', () => {
  it('depends on the task, not on the attempt', async () => {
    const [a, b] = [
      await OpenSample.open(task('renew-one'), { seed: 1 }),
      await OpenSample.open(task('renew-one'), { seed: 2 }),
    ];
    const other = await OpenSample.open({ ...task('renew-one'), world: { seed: 99 } });
    assert.deepEqual(a.snapshot(), b.snapshot());
    assert.notDeepEqual(a.snapshot(), other.snapshot());
    for (const each of [a, b, other]) each.close();
  });
});

describe('verify', () => {
  it('reports missing changes, unrequested changes, and the expected answer', () =>
    withLibrary('renew-one', async (library) => {
      await ok(library, 'renew_loan', { loan_id: 'L-3002' });
      const before = { due: '2026-03-20', renewals: 0 };
      const { checks, ...verdict } = library.verify(null);
      assert.deepEqual(verdict, {
        value: 0,
        passed: false,
        explanation:
          'loans L-3001: due 2026-03-20, renewals 0, expected due 2026-04-03, renewals 1. ' +
          'Also changed: loans L-3002. The answer is null, expected "2026-04-03".',
      });
      assert.deepEqual(
        checks?.map(({ name, cause, expected, actual }) => [name, cause, expected, actual]),
        [
          ['loans L-3001', 'loans: not renewed', { due: '2026-04-03', renewals: 1 }, before],
          ['nothing else changed', 'unexpected change in loans', [], ['loans L-3002']],
          ['answer', undefined, '2026-04-03', null],
        ],
      );
    }));
  it('rejects a row that changed more than it should', () =>
    withLibrary('renew-or-return', async (library) => {
      for (const loan_id of ['L-3014', 'L-3016']) await ok(library, 'renew_loan', { loan_id });
      for (const loan_id of ['L-3015', 'L-3017']) await ok(library, 'return_book', { loan_id });
      assert.equal(library.verify('2').passed, true);
      await ok(library, 'return_book', { loan_id: 'L-3014' });
      assert.equal(library.verify('2').passed, false);
    }));
  it('says which columns are wrong, also of a new row', () =>
    withLibrary('borrow-one', async (library) => {
      await ok(library, 'check_out', { member_id: 'M-1004', book_id: 'B-203' });
      const [loan] = library.verify(null).checks ?? [];
      assert.deepEqual([loan?.name, loan?.cause], ['new loans', 'loans: wrong member_id']);
    }));
  it('reads the answer in the last line, as a word', () =>
    withLibrary('fines-total', (library) => {
      for (const said of ['3.40', 'He owes two fines.\n**€3.40**', 'The total is 3.40.', (3.4).toFixed(2)])
        assert.equal(library.verify(said).passed, true, said);
      for (const said of ['13.40', '3.40\nAnything else?', '', null, { total: '3.40' }])
        assert.equal(library.verify(said).passed, false);
      return Promise.resolve();
    }));
});
