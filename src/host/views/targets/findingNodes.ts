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

/**
 * Returns the items below a target: first what does not work, then what changes, which are `others`, and one item with
 * all checks that need no action.
 */
export function targetItems(
  target: string,
  read: TargetFindings | undefined,
  others: readonly TargetNode[],
): TargetNode[] {
  if (read === undefined) return [...others, readingNode(target)];
  const needsAction = ({ state }: Finding): boolean => state === 'wrong' || state === 'missing';
  const quiet = read.findings.filter((finding) => !needsAction(finding));
  return [
    ...findingNodes(target, { ...read, findings: read.findings.filter(needsAction) }),
    ...others,
    ...(quiet.length === 0 ? [] : [checksNode(target, { ...read, findings: quiet })]),
  ];
}

function checksNode(target: string, read: TargetFindings): TargetNode {
  const unknown = read.findings.filter(({ state }) => state === 'unknown').length;
  const parts = [`${read.findings.length - unknown} ok`, ...(unknown === 0 ? [] : [`${unknown} unknown`])];
  return {
    id: `target/${target}/checks`,
    target,
    collapsed: true,
    item: {
      label: 'Checks',
      description: parts.join(' · '),
      tooltip: 'What was checked and needs no action',
      icon: FINDING_ICONS[unknown === 0 ? 'ok' : 'unknown'],
      context: 'checks',
      ariaLabel: `Checks, ${parts.join(', ')}`,
    },
    // VS Code cannot move an item below another one, so they are others than those that need action.
    children: findingNodes(target, read, 'checks/'),
  };
}

/** Has an ID of its own, because VS Code keeps whether an item has children. */
function readingNode(target: string): TargetNode {
  return leaf(`target/${target}/reading`, {
    label: 'Checks',
    description: 'checking…',
    icon: { id: 'loading~spin' },
    context: 'checks',
    ariaLabel: 'Checks, checking…',
  });
}

/** Returns an item per finding, with its hint as the only child. `place`: the item that they are below. */
export function findingNodes(target: string, { findings, at }: TargetFindings, place = ''): TargetNode[] {
  return findings.map(({ name, state, text, hint }): TargetNode => {
    const id = `target/${target}/${place}${name}`;
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
