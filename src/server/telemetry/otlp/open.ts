/** Assembles the export of finished rollouts to a collector. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Log } from '../../../common/log.ts';
import { PRODUCT } from '../../../common/product.ts';
import type { Store } from '../../../store/store.ts';
import { TrajectoryModel } from '../../../trace/model.ts';
import { readEvent } from '../../../trace/upgrades.ts';
import type { Changes } from '../../changes.ts';
import { StreamReader } from '../../streamReader.ts';
import type { Counters } from '../counters.ts';
import { type Collector, sendTraces } from './collector.ts';
import { Exporter } from './exporter.ts';
import { FinishedRollouts } from './finished.ts';
import type { OtlpSpan } from './span.ts';
import { traceOf } from './trace.ts';

const READ_BYTES = 256 * 1024;

interface TraceExport {
  /** Sends pending traces, within the time. */
  close(withinMs: number): Promise<void>;
}

/** Starts the export. `service`: the service name in the traces. */
export function openTraceExport(parts: {
  store: Store;
  changes: Changes;
  counters: Counters;
  log: Log;
  collector: Collector;
  service: string;
}): TraceExport {
  const { store, changes, counters, log, collector, service } = parts;
  const [name = '', version = ''] = PRODUCT.split(' ');
  const exporter = new Exporter({
    to: new URL(collector.url).host,
    counters,
    log,
    send: (body, signal) => sendTraces(collector, body, signal),
    trace: (rollout) => readTrace(store, rollout),
    resource: { 'service.name': service, 'service.version': version },
    scope: { name, version },
  });
  const finished = new FinishedRollouts({ store, changes, log, onFinished: (rollout) => exporter.add(rollout) });
  return {
    close: async (withinMs) => {
      const until = performance.now() + withinMs;
      try {
        await finished.check();
      } finally {
        finished.close();
        await exporter.close(Math.max(0, until - performance.now()));
      }
    },
  };
}

/** Reads a trace; undefined if the rollout no longer exists. Yields to other work between chunks of a long one. */
async function readTrace(store: Store, rollout: string): Promise<OtlpSpan[] | undefined> {
  const record = await store.rollout(rollout);
  if (record === undefined) return undefined;
  const model = new TrajectoryModel();
  for await (const bodies of new StreamReader(store, rollout, record.lineage).all(0, record.row.last, READ_BYTES)) {
    model.push(bodies.map((body) => readEvent(JSON.parse(body), { checked: true })));
    await yieldToOthers();
  }
  return traceOf(record, model);
}
