/**
 * Batches for cluster tests: on the demo model of the server in the cluster, with tasks that name the tools to call.
 */
import type { JsonObject } from '../../../src/common/json.ts';
import type { BatchFiles, TaskLine } from '../../support/testWorkspace.ts';
import type { Site } from './site.ts';

/** Attempts that take some seconds each. */
export function steady(
  site: Site,
  {
    tasks,
    steps,
    latencyMs = 250,
    pods = {},
    batch = {},
  }: { tasks: number; steps: number; latencyMs?: number; pods?: JsonObject; batch?: JsonObject },
): BatchFiles {
  const lines = Array.from(
    { length: tasks },
    (_, index): TaskLine => ({
      id: `t${index}`,
      question: `call calculate {"expression": "40 + 2"} times ${steps}\nanswer 42`,
      answer: '42',
    }),
  );
  return {
    tasks: lines,
    endpoint: `demo:?latency_ms=${latencyMs}`,
    agent: { tools: [{ builtin: ['calculator'] }], limits: { steps: steps + 5 } },
    batch: { pods: podsOf(site, pods), ...batch },
  };
}

/** Two small pods with the site's image. */
export function podsOf(site: Site, more: JsonObject = {}): JsonObject {
  return {
    image: site.image,
    pull_policy: 'IfNotPresent',
    count: 2,
    requests: { cpu: '50m', memory: '64Mi' },
    ...more,
  };
}
