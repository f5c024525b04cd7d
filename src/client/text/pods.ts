/** Renders the pods of a batch as text. */
import { plural, sentence } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { PodInfo } from '../../protocol/pods.ts';
import type { BatchPods } from '../batchPods.ts';
import { table } from './table.ts';

/** Returns what people call the pods of a batch that runs on this machine. */
export function podNoun(pods: readonly Pick<PodInfo, 'kind'>[]): 'pod' | 'worker process' {
  return pods.some(({ kind }) => kind === 'process') ? 'worker process' : 'pod';
}

/** Returns the state of a pod in one or two words, as in `kubectl get pods`. */
export function podStateText({ state, reason, kind }: Pick<PodInfo, 'state' | 'reason' | 'kind'>): string {
  if (kind === 'process') return state;
  return reason === undefined || reason === 'Completed' || reason === 'Terminating' ? state : `${state}: ${reason}`;
}

/** `now`: milliseconds since the epoch. */
export function podsText({ pods, gone, text }: BatchPods, now: number): string {
  const parts: string[] = [];
  if (pods.length > 0)
    parts.push(
      table(
        [
          ['name', 'state', 'ready', 'restarts', 'node', 'rollouts', 'age'],
          ...pods.map((pod) => [
            pod.name,
            podStateText(pod),
            pod.kind === 'process' ? '' : readyText(pod),
            pod.kind === 'process' ? '' : String(pod.restarts),
            pod.node ?? '',
            String(pod.rollouts.length),
            ageText(pod, now),
          ]),
        ],
        [3, 5],
      ),
    );
  const whys = pods.flatMap((pod) => (pod.text === undefined ? [] : [sentence(pod.text)]));
  if (whys.length > 0) parts.push(whys.join('\n'));
  if (text !== undefined) parts.push(text);
  if (gone.length > 0)
    parts.push(
      [
        `${plural(gone.length, podNoun(gone))} no longer ${gone.length === 1 ? 'exists' : 'exist'}:`,
        ...gone.map(({ name, records }) => `  ${name}  ${records.at(-1)?.text ?? ''}`),
      ].join('\n'),
    );
  return parts.join('\n\n');
}

function readyText({ containers }: PodInfo): string {
  // Containers that prepare others, and have ended.
  const counted = containers.filter(({ state, exit_code: code }) => state !== 'ended' || code !== 0);
  return `${counted.filter(({ ready }) => ready).length}/${counted.length}`;
}

function ageText({ created_at: created, started_at: started }: PodInfo, now: number): string {
  const since = created ?? started;
  return since === undefined ? '' : duration(Math.max(0, now - since));
}
