/** Shows how well a world predicts recorded calls: by tool, by domain, by turn, and the worst calls first. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { nounFor, plural } from '../../src/common/text.ts';
import { compact, count, percent } from '../../src/common/units.ts';
import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { accuracyByTurn, worstFirst } from '../../src/trace/prediction/byTurn.ts';
import { isRight, type PredictionFault } from '../../src/trace/prediction/fidelity.ts';
import { PredictionTally, predictionAccuracy } from '../../src/trace/prediction/statistics.ts';
import { ActionLink } from '../components/link.tsx';
import { actAndSay } from '../components/notices/actAndSay.ts';
import { EmptyState } from '../components/notices/emptyState.tsx';
import { ServerNotices } from '../components/notices/serverNotices.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { type KeyGroup, KeysOverlay } from '../components/overlays/keysOverlay.tsx';
import { Quantity } from '../components/quantity.tsx';
import { ShareButtons } from '../components/shareButtons.tsx';
import { useChanges } from '../data/observe.ts';
import type { Host } from '../host/host.ts';
import { useKeys } from '../keys.ts';
import { AccuracyTable } from './accuracyTable.tsx';
import { CallDetail } from './callDetail.tsx';
import { CallRows, FAULTS, faultIn } from './callRows.tsx';
import { type FidelityCall, FidelityData, type FidelityDefinition } from './fidelityData.ts';
import { MODES } from './modes.ts';
import { TurnChart } from './turnChart.tsx';
import './fidelityPage.css';

type Fault = PredictionFault | 'right';

const KEYS: readonly KeyGroup[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'J / K', does: 'next, previous call' },
      { keys: 'Home / End', does: 'worst, best call' },
      { keys: '1 … 7', does: 'only calls with this error' },
      { keys: 'T', does: 'only calls of this tool' },
      { keys: '0', does: 'all calls' },
    ],
  },
  {
    title: 'Call',
    keys: [
      { keys: 'Enter', does: 'open the call with its prediction' },
      { keys: 'Ctrl+Enter', does: 'open to the side' },
      { keys: 'R', does: 'open the call in the recording' },
      { keys: 'Y', does: 'copy the reference' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: 'O', does: 'open the batch' },
      { keys: '?', does: 'show keys' },
    ],
  },
];

interface FidelityPageProps {
  readonly host: Host;
  readonly can: ReadonlySet<PageVerb>;
  readonly place: Extract<PagePlace, { page: 'fidelity' }>;
}

export function FidelityPage({ host, can, place }: FidelityPageProps) {
  const { batch } = place;
  const [reading, setReading] = useState(1);
  const data = useMemo(() => new FidelityData(host, batch), [host, batch, reading]);
  useEffect(() => () => data.close(), [data]);
  useChanges(data.changed);
  const { definition } = data;
  const name = definition === undefined || definition === null ? (data.batch?.name ?? batch) : definition.world;
  useEffect(() => host.setPlace(place, `Fidelity of ${name}`), [host, place, name]);
  const act = (action: PageAction): void => actAndSay(host, action);
  return (
    <main class="fidelity-page">
      <ServerNotices host={host} />
      <Head data={data} place={place} name={name} can={can} act={act} />
      {data.loading === 'failed' ? (
        <EmptyState
          icon="error"
          title="Cannot load the predictions"
          text={data.problem ?? ''}
          actions={[{ label: 'Try again', onClick: () => setReading(reading + 1) }]}
        />
      ) : definition === null ? (
        <EmptyState
          icon="info"
          title="This batch compares no world"
          text="Compare one with recordings: rollout world fidelity BATCH --world FILE."
        />
      ) : definition === undefined || (data.calls.length === 0 && data.loading === 'loading') ? (
        <>
          <p class="fidelity-remark" role="status">
            Loading predictions…
          </p>
          <Skeleton />
        </>
      ) : data.calls.length === 0 ? (
        <EmptyState
          icon={data.ended ? 'info' : 'watch'}
          title={data.ended ? 'No call was predicted' : 'No predictions yet'}
          text={
            data.ended
              ? `${definition.world} has none of the tools that were called, or no rollout could run.`
              : 'They appear here as the batch runs.'
          }
        />
      ) : (
        <Calls data={data} definition={definition} place={place} can={can} act={act} />
      )}
    </main>
  );
}

function Head({
  data,
  place,
  name,
  can,
  act,
}: {
  readonly data: FidelityData;
  readonly place: FidelityPageProps['place'];
  readonly name: string;
  readonly can: FidelityPageProps['can'];
  readonly act: (action: PageAction) => void;
}) {
  const { definition, batch } = data;
  const { ended, total } = data.progress;
  return (
    <header class="page-head fidelity-head">
      <h1 title={definition?.file ?? name}>{name}</h1>
      {definition !== undefined && definition !== null && (
        <>
          <span class="page-mark">{definition.kind}</span>
          <span class="dim" title={MODES[definition.how].title}>
            {MODES[definition.how].short}
            {definition.model === undefined ? '' : ` · ${definition.model}`}
            {definition.judged ? ' · judged' : ''}
          </span>
        </>
      )}
      {batch !== undefined && batch.state !== 'ended' && (
        <span class="dim" role="status">
          {count(ended)} of {plural(total, 'rollout')} done
        </span>
      )}
      <span class="grow" />
      <div class="fidelity-actions">
        {batch !== undefined && can.has('open') && (
          <ActionLink
            label={batch.name}
            title="Open the batch (O)"
            onClick={() => act({ do: 'open', place: { page: 'batch', batch: batch.batch } })}
          />
        )}
        <ShareButtons can={can} place={place} act={act} />
      </div>
    </header>
  );
}

interface CallsProps {
  readonly data: FidelityData;
  readonly definition: FidelityDefinition;
  readonly place: FidelityPageProps['place'];
  readonly can: FidelityPageProps['can'];
  readonly act: (action: PageAction) => void;
}

function Calls({ data, definition, place, can, act }: CallsProps) {
  const { calls, other } = data;
  const [tool, setTool] = useState<string>();
  const [domain, setDomain] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [chosen, setChosen] = useState<string>();
  const [keys, setKeys] = useState(false);
  const sorted = useMemo(() => worstFirst(calls), [calls]);
  const shown = useMemo(
    () =>
      sorted.filter(
        (call) =>
          (tool === undefined || call.tool === tool) &&
          (domain === undefined || domainOf(call, definition) === domain) &&
          (fault === undefined || faultIn(call) === fault),
      ),
    [sorted, tool, domain, fault, definition],
  );
  // A call keeps its selection while others arrive.
  const found = shown.findIndex((call) => refOf(call) === chosen);
  const selected = found < 0 ? 0 : found;
  const call = shown[selected];
  const model = call === undefined ? undefined : data.modelOf(call.rollout);
  const go = (index: number): void => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, index))];
    setChosen(next === undefined ? undefined : refOf(next));
  };
  const open = (index: number, beside = false): void => {
    const one = shown[index];
    if (one !== undefined)
      act({
        do: 'open',
        place: { page: 'trajectory', rollout: one.rollout, seq: one.seq },
        ...(beside ? { beside } : {}),
      });
  };
  const recorded = (): void => {
    const to = call?.span.end?.data.recorded;
    if (to !== undefined) act({ do: 'open', place: { page: 'trajectory', rollout: to.rollout, seq: to.seq } });
  };
  const domains = useMemo(() => predictionAccuracy(calls, (each) => domainOf(each, definition)), [calls, definition]);
  const faults = useMemo(() => Map.groupBy(calls, faultIn), [calls]);
  useKeys(
    {
      ...Object.fromEntries(
        (Object.keys(FAULTS) as Fault[]).map((name, index) => [
          String(index + 1),
          () => faults.has(name) && setFault(name === fault ? undefined : name),
        ]),
      ),
      j: () => go(selected + 1),
      k: () => go(selected - 1),
      ArrowDown: () => go(selected + 1),
      ArrowUp: () => go(selected - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      Enter: () => open(selected),
      'mod+Enter': () => open(selected, true),
      r: recorded,
      t: () => setTool(tool === undefined ? call?.tool : undefined),
      '0': () => {
        setTool(undefined);
        setDomain(undefined);
        setFault(undefined);
      },
      o: () => act({ do: 'open', place: { page: 'batch', batch: place.batch } }),
      y: () => call !== undefined && act({ do: 'copy', text: refOf(call) }),
      '?': () => setKeys(true),
    },
    !keys,
  );
  return (
    <>
      <Tiles data={data} />
      <div class="fidelity-columns">
        <div class="fidelity-figures">
          <TurnChart
            lines={[
              { how: definition.how, turns: accuracyByTurn(calls) },
              ...(other === undefined
                ? []
                : [
                    {
                      how: definition.how === 'free' ? ('forced' as const) : ('free' as const),
                      turns: accuracyByTurn(other.calls),
                    },
                  ]),
            ]}
          />
          <AccuracyTable
            title="By tool"
            groups={predictionAccuracy(calls, (each) => each.tool)}
            selected={tool}
            onSelect={setTool}
          />
          {domains.length > 1 && (
            <AccuracyTable title="By domain" groups={domains} selected={domain} onSelect={setDomain} />
          )}
        </div>
        <div class="fidelity-list">
          <div class="fidelity-filter" role="group" aria-label="Only calls with">
            {(Object.keys(FAULTS) as Fault[]).map((name) => {
              const number = faults.get(name)?.length ?? 0;
              const [sign, words, title] = FAULTS[name];
              return number === 0 ? null : (
                <button
                  key={name}
                  type="button"
                  class={`fidelity-chip is-${name}`}
                  title={title}
                  aria-pressed={name === fault}
                  onClick={() => setFault(name === fault ? undefined : name)}
                >
                  <span aria-hidden="true">{sign}</span> <b>{count(number)}</b> {words}
                </button>
              );
            })}
            {tool !== undefined && <OnlyChip name={tool} onClear={() => setTool(undefined)} />}
            {domain !== undefined && <OnlyChip name={domain} onClear={() => setDomain(undefined)} />}
          </div>
          <div class="fidelity-rows">
            {shown.length === 0 ? (
              <p class="fidelity-remark">No such call of {[tool, domain].filter(Boolean).join(', ')}.</p>
            ) : (
              <CallRows calls={shown} selected={selected} onSelect={go} onOpen={open} />
            )}
          </div>
        </div>
        <div class="fidelity-side">
          {call !== undefined && model !== undefined && (
            <CallDetail call={call} model={model} blobs={data.blobs} can={can} act={act} onRecorded={recorded} />
          )}
        </div>
      </div>
      <footer class="page-foot fidelity-foot">
        <span>
          {count(shown.length)} of {count(calls.length)} {nounFor(calls.length, 'call')}, worst first
          {data.loading === 'loading' ? '; loading more…' : ''}
        </span>
        <span class="fidelity-keys">
          <kbd>J</kbd>
          <kbd>K</kbd> call
        </span>
        <span class="fidelity-keys">
          <kbd>↵</kbd> open
        </span>
        <span class="fidelity-keys">
          <kbd>R</kbd> recorded call
        </span>
        <button type="button" onClick={() => setKeys(true)}>
          <kbd>?</kbd> keys
        </button>
      </footer>
      {keys && <KeysOverlay groups={KEYS} onClose={() => setKeys(false)} />}
    </>
  );
}

/** A group to which the calls are filtered. */
function OnlyChip({ name, onClear }: { readonly name: string; readonly onClear: () => void }) {
  return (
    <button type="button" class="fidelity-chip" aria-pressed="true" title="Show the others, too" onClick={onClear}>
      {name} <span aria-hidden="true">×</span>
    </button>
  );
}

/** The figures of all calls. */
function Tiles({ data: { calls, rows, definition } }: { readonly data: FidelityData }) {
  const judged = definition?.judged === true;
  const tally = new PredictionTally();
  for (const call of calls) tally.add(call);
  const { accuracy, failed } = tally.accuracy('all');
  const right = calls.filter(isRight).length;
  const side = [...rows.values()].flatMap(({ progress }) => progress.side ?? []);
  const tokens = side.reduce((sum, { input_tokens: input, output_tokens: output }) => sum + input + output, 0);
  const costs = side.flatMap(({ cost }) => cost ?? []);
  return (
    <div class="fidelity-tiles">
      <Quantity value={accuracy === null ? '–' : percent(accuracy)} unit="accuracy" />
      <Quantity value={`${count(right)}/${count(calls.length)}`} unit="calls right" />
      {failed > 0 && <Quantity value={count(failed)} unit="without a prediction" />}
      {tokens > 0 && <Quantity value={compact(tokens)} unit={`tokens of the world${judged ? ' and its judge' : ''}`} />}
      {costs.length > 0 && <Quantity value={`$${costs.reduce((sum, cost) => sum + cost, 0).toFixed(4)}`} unit="cost" />}
    </div>
  );
}

function domainOf({ task }: FidelityCall, { recordings, domain, kind }: FidelityDefinition): string {
  return recordings[task]?.domain ?? domain ?? kind;
}

function refOf({ rollout, seq }: FidelityCall): string {
  return `${rollout}@${seq}`;
}
