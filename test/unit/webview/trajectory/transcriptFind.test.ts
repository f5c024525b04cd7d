// Find in a transcript: matches, what hides them, and the cursor.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Transcript } from '../../../../webview/trajectory/transcript/transcript.ts';
import { Stream } from '../../../support/stream.ts';

class Page {
  readonly model = new TrajectoryModel();
  readonly data = { model: this.model, liveText: (): undefined => undefined };
  readonly transcript = new Transcript(this);
  seq = 0;

  constructor(s: Stream) {
    this.model.push(s.events);
  }

  go(seq: number): void {
    this.seq = seq;
  }

  async search(query: string): Promise<number> {
    this.transcript.search(query);
    return this.searched();
  }

  /** Resolves once all rows are searched. */
  async searched(): Promise<number> {
    if (!this.transcript.searchedAll)
      await new Promise<void>((resolve) => {
        const watch = this.transcript.changed(() => {
          if (!this.transcript.searchedAll) return;
          watch.dispose();
          resolve();
        });
      });
    return this.transcript.found.length;
  }
}

function talk(): Stream {
  const s = new Stream();
  s.start();
  s.message('system', 'Renew a **loan** once.');
  s.message('user', 'Renew my loan.');
  s.model('The **lo**an is `17`.', [{ id: 'c1', name: 'renew_loan', arguments: { loan_id: 17 } }]);
  s.toolEnd(s.toolStart('c1', 'renew_loan', { loan_id: 17 }), 'c1', { ok: true, note: 'LOAN' });
  return s;
}

describe('find in a transcript', () => {
  it('finds a text as it is shown, in messages, names, arguments, and results', async () => {
    const page = new Page(talk());
    assert.equal(await page.search('loan'), 6);
    assert.equal(await page.search('loan is 17'), 1);
    assert.equal(await page.search('**'), 0);
    assert.equal(page.transcript.current, -1);
  });

  it('goes from match to match and around, opens what hides one, and keeps the cursor at the end', async () => {
    const page = new Page(talk());
    const { transcript } = page;
    const [system, user] = transcript.shown;
    page.go(user?.seq ?? 0);
    transcript.openFind();
    await page.search('loan');
    assert.equal(transcript.current, 1, 'from the cursor on');
    transcript.next(-1);
    assert.equal(page.seq, system?.seq);
    assert.ok(transcript.isOpen(`${system?.seq}:0`));
    transcript.next(-1);
    assert.equal(transcript.current, 5);
    const { seq } = page;
    transcript.closeFind();
    assert.deepEqual([transcript.finding, transcript.found.length, page.seq], [false, 0, seq]);
  });

  it('goes back to where it began when nothing is found any more', async () => {
    const page = new Page(talk());
    page.go(page.transcript.shown[0]?.seq ?? 0);
    const { seq } = page;
    page.transcript.openFind();
    await page.search('My');
    assert.notEqual(page.seq, seq);
    await page.search('My giraffe');
    assert.equal(page.seq, seq);
  });

  it('opens the sub-agent around a match', async () => {
    const s = new Stream();
    s.start();
    const agent = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1' });
    s.message('user', 'A needle.', 'given', { agent: 'desk/searcher#1' });
    const page = new Page(s);
    page.transcript.openAgent(agent, false);
    assert.equal(page.transcript.shown.length, 1);
    assert.equal(page.transcript.indexOf(s.last), 0);
    await page.search('needle');
    assert.equal(page.transcript.isClosed(agent), false);
    assert.equal(page.transcript.index, 1);
  });

  it('searches new events, too, without counting twice', async () => {
    const s = talk();
    const page = new Page(s);
    await page.search('loan');
    s.message('user', 'Another loan.');
    page.model.push(s.events);
    page.transcript.advance();
    assert.equal(await page.searched(), 7);
  });
});

describe('the cursor of a transcript', () => {
  it('moves by message, and opens and closes what is in it', () => {
    const page = new Page(talk());
    const { transcript } = page;
    page.go(transcript.shown[0]?.seq ?? 0);
    transcript.toggle();
    assert.ok(transcript.isOpen(`${page.seq}:0`));
    transcript.toggle();
    assert.ok(!transcript.isOpen(`${page.seq}:0`));
    transcript.row(1);
    transcript.row(1);
    transcript.row(1);
    assert.equal(transcript.index, 2, 'the last row');
    page.go(page.model.tools[0]?.seq ?? 0);
    assert.equal(transcript.index, 2, 'a call is in its turn');
  });
});
