/** Where pods run, as their specification says it. Pure. */
import type { SPREADS } from '../config/schema/placement.ts';

/** Over nodes, then over zones. */
const TOPOLOGIES = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'] as const;

/**
 * Returns what spreads pods with these labels: over nodes and zones if possible, or over nodes in any case. A node or a
 * zone that is lost, drained, or reclaimed then takes few of them with it.
 */
export function spreadOf(
  spread: (typeof SPREADS)[number] = 'preferred',
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  if (spread === 'none') return {};
  return {
    topologySpreadConstraints: TOPOLOGIES.map((topologyKey, index) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: spread === 'required' && index === 0 ? 'DoNotSchedule' : 'ScheduleAnyway',
      labelSelector: { matchLabels: labels },
    })),
  };
}
