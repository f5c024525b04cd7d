/** What a batch costs and loses as groups for a trainer: tiles above the groups. What has no value has no tile. */
import type { ComponentChildren } from 'preact';
import { nounFor, plural } from '../../../src/common/text.ts';
import { compact, count, duration } from '../../../src/common/units.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { allWasted, MAX_LOST_SHARE } from '../../../src/trace/groups/figures.ts';
import { wastedParts } from '../../../src/trace/groups/text.ts';
import { bandParts, budgetLimit, budgetParts } from '../../../src/trace/statistics/controlText.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Icon } from '../../components/marks/icon.tsx';
import type { BatchView } from '../batchView.ts';
import './groups.css';

type Delivered = NonNullable<BatchRow['delivered']>;

export function GroupTiles({
  view: { figures },
  delivered,
}: {
  readonly view: BatchView;
  readonly delivered: Delivered | undefined;
}) {
  if (figures === undefined) return <div class="group-tiles" aria-busy="true" />;
  const { report } = figures;
  return (
    <div class="group-tiles">
      <WastedTile report={report} />
      <TailTile report={report} />
      <LostTile report={report} />
      <DriftTile report={report} />
      <VersionsTile report={report} />
      <BudgetTile report={report} />
      <CurriculumTile report={report} />
      {delivered !== undefined && <DeliveredTiles delivered={delivered} />}
    </div>
  );
}

/** What happened to groups when they were delivered to the trainer. */
function DeliveredTiles({ delivered: { filtered, replayed } }: { readonly delivered: Delivered }) {
  return (
    <>
      {filtered.groups > 0 && (
        <Tile
          name="Filtered"
          value={count(filtered.groups)}
          unit={nounFor(filtered.groups, 'group')}
          title="Groups that the filter of the batch left out at their delivery"
          text={`${compact(filtered.tokens)} tokens`}
        />
      )}
      {replayed.groups > 0 && (
        <Tile
          name="Replayed"
          value={count(replayed.rollouts)}
          unit={nounFor(replayed.rollouts, 'attempt')}
          title="Successes of earlier groups that were delivered again, with groups in which no member passed"
          text={`with ${plural(replayed.groups, 'group')}`}
        />
      )}
    </>
  );
}

interface TileProps {
  readonly report: Report;
}

function WastedTile({ report: { tokens, wasted } }: TileProps) {
  if (tokens === null) return null;
  const total = tokens.input + tokens.output;
  const own = allWasted(wasted);
  if (total === 0) return null;
  const parts = wastedParts(wasted);
  return (
    <Tile
      name="Wasted tokens"
      value={tenth((100 * own) / total)}
      unit="%"
      title="Tokens that a trainer learns nothing from"
      text={`${compact(own)} of ${compact(total)}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`}
    />
  );
}

function TailTile({ report: { ms } }: TileProps) {
  if (ms === null || ms.p50 <= 0) return null;
  const times = [
    `p50 ${duration(ms.p50)}`,
    `p95 ${duration(ms.p95)}`,
    ...(ms.p99 === undefined ? [] : [`p99 ${duration(ms.p99)}`]),
  ];
  return (
    <Tile
      name="Tail"
      value={tenth(ms.p95 / ms.p50)}
      unit="×"
      title="How much longer than the median 95 % of the attempts take at most"
      text={times.join(', ')}
    />
  );
}

function LostTile({ report: { lost } }: TileProps) {
  if (lost.of === 0) return null;
  const share = lost.rollouts / lost.of;
  return (
    <Tile
      name="Infrastructure"
      value={tenth(100 * share)}
      unit="%"
      warn={share > MAX_LOST_SHARE ? `More than ${100 * MAX_LOST_SHARE} % of the rollouts were lost` : undefined}
      title="Rollouts that infrastructure failures ended, with those that were tried again"
      text={`${count(lost.rollouts)} of ${plural(lost.of, 'rollout')} lost`}
    />
  );
}

function DriftTile({ report: { drift } }: TileProps) {
  if (drift.attempts === 0) return null;
  return (
    <Tile
      name="Drift"
      value={tenth((100 * drift.attempts) / drift.of)}
      unit="%"
      title="Attempts with a prompt that continues the messages before it, but not their tokens"
      text={`${plural(drift.calls, 'call')} in ${count(drift.attempts)} of ${plural(drift.of, 'attempt')}`}
    />
  );
}

function VersionsTile({ report: { versions } }: TileProps) {
  const newest = versions.at(-1)?.[0];
  if (newest === undefined) return null;
  const all = versions.reduce((sum, [, attempts]) => sum + attempts, 0);
  const shares = versions.map(([version, attempts]) => `${version} ${Math.round((100 * attempts) / all)}%`);
  return (
    <Tile
      name="Weight versions"
      value={count(versions.length)}
      unit={`newest ${newest}`}
      title="Attempts by the newest version of the weights that sampled them"
      text={shares.join(', ')}
    >
      <span class="batch-track">
        {versions.map(([version, attempts], i) => (
          <i
            key={version}
            class="of-flow parted"
            style={{ width: `${(100 * attempts) / all}%`, opacity: (i + 1) / versions.length }}
          />
        ))}
      </span>
    </Tile>
  );
}

function BudgetTile({ report: { budget } }: TileProps) {
  if (budget === null) return null;
  return (
    <Tile
      name="Task budget"
      value={count(budget.spent)}
      unit={`of ${plural(budget.of, 'task')}`}
      title={`Tasks whose attempts used ${budgetLimit(budget)}: none of them begins any more`}
      text={budgetParts(budget).join(', ')}
    />
  );
}

function CurriculumTile({ report: { curriculum } }: TileProps) {
  if (curriculum?.kept === undefined) return null;
  const { kept, too_hard: hard, too_easy: easy, outside = 0, saved } = curriculum;
  const left = [
    ...(hard > 0 ? [`${count(hard)} too hard`] : []),
    ...(easy > 0 ? [`${count(easy)} too easy`] : []),
    ...(saved === null || saved === 0 ? [] : [`${plural(saved, 'attempt')} saved`]),
  ];
  return (
    <Tile
      name="Curriculum"
      value={count(kept - outside)}
      unit={`of ${plural(kept + hard + easy, 'task')}`}
      title={`Tasks in the band of the curriculum, which began with the pass rates of ${curriculum.by}`}
      text={[...bandParts(curriculum), ...left].join(', ')}
    />
  );
}

interface TileContent {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly title: string;
  readonly text: string;
  /** Why it needs a look. */
  readonly warn?: string | undefined;
  readonly children?: ComponentChildren;
}

function Tile({ name, value, unit, title, text, warn, children }: TileContent) {
  return (
    <section class="group-tile" aria-label={name} title={title}>
      <h2>{name}</h2>
      <p class="group-tile-value">
        {warn !== undefined && <Icon name="warning" label={warn} />}
        <b>{value}</b> <span class="batch-dim">{unit}</span>
      </p>
      {children}
      <p class="group-tile-text" title={text}>
        {text}
      </p>
    </section>
  );
}

/** One decimal, without a zero. */
function tenth(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
