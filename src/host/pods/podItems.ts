/** Describes the pods of a batch in lists and trees. Does not depend on VS Code. */
import type { BatchPods, GonePod } from '../../client/batchPods.ts';
import { podNoun, podStateText } from '../../client/text/pods.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { PodContainer, PodInfo, PodState } from '../../protocol/pods.ts';
import type { Icon, ItemContent } from '../views/itemContent.ts';

/** Icons differ in shape, so that states do not depend on color. */
const STATE_ICONS: Readonly<Record<PodState, Icon>> = {
  pending: { id: 'watch', color: 'charts.yellow' },
  starting: { id: 'loading~spin', color: 'charts.blue' },
  running: { id: 'vm-running', color: 'testing.iconPassed' },
  ending: { id: 'debug-disconnect' },
  ended: { id: 'vm-outline' },
  failed: { id: 'error', color: 'testing.iconFailed' },
};
const GONE_ICON: Icon = { id: 'circle-slash', color: 'testing.iconSkipped' };
const CONTAINER_ICONS: Readonly<Record<PodContainer['state'], Icon>> = {
  waiting: { id: 'watch', color: 'charts.yellow' },
  running: { id: 'package', color: 'testing.iconPassed' },
  ended: { id: 'package' },
};
const IMAGE_TROUBLE = { id: 'warning', color: 'charts.orange' } as const;

/** The item above all pods of a batch. `pods`: undefined while they were not read. */
export function podsItem(pods: BatchPods | undefined): ItemContent {
  const label = pods !== undefined && podNoun([...pods.pods, ...pods.gone]) === 'worker process' ? 'Workers' : 'Pods';
  const counts = Map.groupBy(pods?.pods ?? [], ({ state }) => state);
  const description = [
    ...[...counts].map(([state, some]) => `${some.length} ${state}`),
    ...(pods === undefined || pods.gone.length === 0 ? [] : [`${pods.gone.length} gone`]),
  ].join(' · ');
  const hasTrouble = pods?.pods.some(isTroubled) === true;
  return {
    label,
    description,
    icon: hasTrouble ? IMAGE_TROUBLE : { id: 'server-process' },
    context: 'pods',
    ariaLabel: description === '' ? label : `${label}, ${description}`,
  };
}

/** Returns whether somebody may want to know why the pod does not run. */
function isTroubled({ state, text }: PodInfo): boolean {
  return state === 'failed' || ((state === 'pending' || state === 'starting') && text !== undefined);
}

export function podItem(pod: PodInfo): ItemContent {
  const parts = [
    podStateText(pod),
    pod.node ?? '',
    pod.rollouts.length === 0 ? '' : plural(pod.rollouts.length, 'rollout'),
    pod.restarts === 0 ? '' : plural(pod.restarts, 'restart'),
  ];
  const description = parts.filter((part) => part !== '').join(' · ');
  const tooltip = [
    pod.name,
    description,
    pod.text ?? '',
    pod.image ?? '',
    pod.started_at === undefined ? '' : `started ${new Date(pod.started_at).toLocaleString()}`,
    pod.events.findLast(({ warning }) => warning)?.text ?? '',
  ];
  return {
    label: pod.name,
    description,
    tooltip: tooltip.filter((line) => line !== '').join('\n'),
    icon: isTroubled(pod) && pod.state !== 'failed' ? IMAGE_TROUBLE : STATE_ICONS[pod.state],
    context: pod.log ? `pod.${pod.kind}.log` : `pod.${pod.kind}`,
    ariaLabel: `${pod.kind === 'pod' ? 'Pod' : 'Worker'} ${pod.name}, ${description}`,
  };
}

/** A pod that is gone, with the last thing that was recorded about it. */
export function gonePodItem({ name, kind, node, records }: GonePod): ItemContent {
  const last = records.at(-1)?.text ?? '';
  return {
    label: name,
    description: ['gone', node ?? '', last].filter((part) => part !== '').join(' · '),
    tooltip: [name, ...records.map(({ at, text }) => `${new Date(at).toLocaleTimeString()} ${text}`)].join('\n'),
    icon: GONE_ICON,
    context: 'pod.gone',
    ariaLabel: `${kind === 'pod' ? 'Pod' : 'Worker'} ${name}, gone, ${last}`,
  };
}

export function containerItem({ name, image, state, restarts, reason, exit_code: code }: PodContainer): ItemContent {
  const status = [
    reason === undefined ? state : `${state}: ${reason}`,
    code === undefined || code === 0 ? '' : `exit code ${code}`,
    restarts === 0 ? '' : plural(restarts, 'restart'),
  ]
    .filter((part) => part !== '')
    .join(' · ');
  return {
    label: name,
    description: status,
    tooltip: [name, image, status].join('\n'),
    icon: CONTAINER_ICONS[state],
    context: 'pod.container.log',
    ariaLabel: `Container ${name}, ${status}`,
  };
}

/** Everything that is known about a pod, as a document. `now`: milliseconds since the epoch. */
export function podText(pod: PodInfo | undefined, gone: Pick<GonePod, 'name' | 'records'>, now: number): string {
  const lines = [pod === undefined ? `${gone.name}: gone` : `${pod.name}: ${podStateText(pod)}`];
  if (pod !== undefined) {
    if (pod.text !== undefined) lines.push(pod.text);
    const age = pod.created_at ?? pod.started_at;
    lines.push(
      '',
      ...fields([
        ['Node', pod.node],
        ['Image', pod.image],
        ['Age', age === undefined ? undefined : duration(Math.max(0, now - age))],
        ['Restarts', pod.kind === 'pod' ? String(pod.restarts) : undefined],
        ['Rollouts', pod.rollouts.map(({ task, attempt }) => `${task}/${attempt}`).join(', ') || 'none'],
      ]),
    );
    if (pod.containers.length > 0)
      lines.push('', 'Containers', ...fields(pod.containers.map((each) => [each.name, containerText(each)])));
    if (pod.kind === 'pod') lines.push('', 'Events', ...eventLines(pod));
  }
  if (gone.records.length > 0)
    lines.push(
      '',
      'Recorded with the batch',
      ...gone.records.map(({ at, text }) => `  ${new Date(at).toLocaleString()}  ${text}`),
    );
  return `${lines.join('\n')}\n`;
}

function containerText(container: PodContainer): string {
  const { description = '' } = containerItem(container);
  return [description, container.image, container.text ?? ''].filter((part) => part !== '').join('  ');
}

function eventLines({ events }: PodInfo): string[] {
  if (events.length === 0) return ['  None. Clusters keep events for about an hour.'];
  return events.map(
    ({ at, warning, reason, text, count }) =>
      `  ${new Date(at).toLocaleTimeString()}  ${warning ? 'Warning' : 'Normal '}  ${reason}` +
      `${count > 1 ? ` (${count} times)` : ''}: ${text}`,
  );
}

function fields(rows: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const filled = rows.filter((row): row is readonly [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(...filled.map(([name]) => name.length));
  return filled.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
