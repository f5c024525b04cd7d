/** Events about pods in a batch's stream. */
import type { TraceEvent } from '../../../src/trace/schema.ts';

export function podEvents(pods: number, from: number): TraceEvent[] {
  const events: TraceEvent[] = [];
  const add = (what: string, text: string, pod: string): void => {
    events.push({
      v: 1,
      seq: events.length + 1,
      at: from + events.length * 700,
      kind: 'infra',
      data: { what, pod, text },
    });
  };
  for (let n = 0; n < pods; n++) {
    const pod = `rollout-b1-1-${n}-x7k2p`;
    add('pod_started', `Pod ${pod} started on node n${n % 9}, ${n % 6} s after its creation.`, pod);
    if (n % 15 === 14)
      add('pod_oom', `Pod ${pod} was killed on node n${n % 9} because it exceeded its memory limit (OOMKilled).`, pod);
  }
  return events;
}
