/** Builds items of the Targets view from findings. */

import type { Finding } from '../../targets/findings.ts';
import type { Icon } from '../itemContent.ts';
import type { TargetFindings } from './findingReader.ts';
import { leaf, type TargetNode } from './targetNodes.ts';

/** Icons differ in shape, so that states do not depend on color. */
export const FINDING_ICONS: Readonly<Record<Finding['state'], Icon>> = {
  ok: { id: 'pass', color: 'testing.iconPassed' },
  missing: { id: 'circle-slash', color: 'charts.yellow' },
  wrong: { id: 'error', color: 'testing.iconFailed' },
  unknown: { id: 'question', color: 'testing.iconUnset' },
};
const LABELS: Readonly<Record<string, string>> = { gpus: 'GPUs' };

/** Returns an item per finding, with its hint as the only child. */
export function findingNodes(target: string, { findings, at }: TargetFindings): TargetNode[] {
  return findings.map(({ name, state, text, hint }): TargetNode => {
    const id = `target/${target}/${name}`;
    const label = LABELS[name] ?? `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    const visibleHint = state === 'ok' ? undefined : hint;
    return {
      id,
      target,
      item: {
        label,
        description: text,
        tooltip: [
          `${label}: ${text}`,
          ...(visibleHint === undefined ? [] : [visibleHint]),
          `as of ${at.toLocaleTimeString()}`,
        ].join('\n'),
        icon: FINDING_ICONS[state],
        context: `finding.${name}.${state}`,
        ariaLabel: `${label}, ${state}, ${text}`,
      },
      children:
        visibleHint === undefined
          ? []
          : [
              leaf(`${id}/hint`, {
                label: visibleHint,
                tooltip: visibleHint,
                icon: { id: 'lightbulb' },
                context: 'hint',
                ariaLabel: visibleHint,
              }),
            ],
    };
  });
}
