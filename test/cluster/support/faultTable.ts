/** The results of a fault suite: one line for each fault, printed at the end. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { EventData } from '../../../src/trace/schema.ts';
import { ofKind } from '../../support/testWorkspace.ts';
import type { ClusterBench } from './clusterBench.ts';

/** A batch that had a fault. */
export interface FaultyBatch {
  readonly batch: string;
  /** Attempts that end normally. */
  readonly attempts: number;
  /** Tries that are lost with the broken part; none by default. */
  readonly lost?: number;
  /** The one line that reports it to the user. */
  readonly report: {
    readonly what: string | RegExp;
    readonly like: RegExp;
    /** Whether there are more lines like it: of several faults, or of workers that return seconds apart. */
    readonly isRepeated?: boolean;
  };
  /** Further lines, e.g. about its end. */
  readonly also?: readonly { readonly what: string; readonly like: RegExp }[];
}

interface Line {
  readonly fault: string;
  readonly finished: string;
  readonly seconds: string;
  readonly report: string;
}

const HEAD: Line = { fault: 'fault', finished: 'attempts', seconds: 'seconds', report: 'reported to the user' };

export class FaultTable {
  readonly #lines: Line[] = [];
  readonly #bench: () => ClusterBench;

  constructor(bench: () => ClusterBench) {
    this.#bench = bench;
  }

  /** Breaks something under a batch, then asserts that every attempt ended exactly once and the user got one line. */
  async of(test: TestContext, breakBatch: () => Promise<FaultyBatch>): Promise<void> {
    const began = performance.now();
    const { batch, attempts, report, also = [], lost = 0 } = await breakBatch();
    const bench = this.#bench();
    const rows = await bench.assertSettledOnce(batch, attempts);
    assert.equal(rows.filter(({ settles }) => !settles).length, lost, 'tries that were lost');
    const infra = ofKind(await bench.workspace.events(batch), 'infra').map(({ data }) => data);
    const line = only(infra, report);
    for (const one of also) only(infra, one);
    this.#lines.push({
      fault: test.name,
      finished: `${rows.filter(({ settles }) => settles).length}/${attempts}`,
      seconds: ((performance.now() - began) / 1000).toFixed(1),
      report: line.text,
    });
  }

  /** Skips a fault with a reason. */
  skip(test: TestContext, why: string): void {
    this.#lines.push({ fault: test.name, finished: '-', seconds: '-', report: `not tried: ${why}` });
    test.skip(why);
  }

  print(): void {
    const all = [HEAD, ...this.#lines];
    const width = (of: keyof Line): number => Math.max(...all.map((line) => line[of].length));
    const [fault, finished, seconds] = [width('fault'), width('finished'), width('seconds')];
    console.log(
      `\n${all
        .map((line) =>
          [
            line.fault.padEnd(fault),
            line.finished.padStart(finished),
            line.seconds.padStart(seconds),
            line.report,
          ].join('  '),
        )
        .join('\n')}\n`,
    );
  }
}

function only(
  infra: readonly EventData['infra'][],
  { what, like, isRepeated = false }: FaultyBatch['report'],
): EventData['infra'] {
  const isOf = (data: EventData['infra']): boolean =>
    typeof what === 'string' ? data.what === what : what.test(data.what);
  const found = infra.filter((data) => isOf(data) && like.test(data.text));
  const [line] = found;
  assert.ok(
    line !== undefined && (isRepeated || found.length === 1),
    `${found.length} lines of ${String(what)} like ${String(like)} ` +
      `among:\n${infra.map((data) => `${data.what}: ${data.text}`).join('\n')}`,
  );
  return line;
}
