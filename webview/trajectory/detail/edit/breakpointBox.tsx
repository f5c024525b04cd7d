/** The breakpoint on the selection with its condition, and a list of all others. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import { Button, Dropdown, TextField } from '../../../components/controls.tsx';
import { useChanges } from '../../../data/observe.ts';
import { hitsSoFar, type RowBreakpoint } from '../../debug/breakpoints.ts';
import { keyOf, nameOf, type Spot, type SpotCondition } from '../../debug/spot.ts';
import type { TrajectorySession } from '../../session.ts';
import { BreakpointMark, breakpointText } from '../../steps/gutter.tsx';

export function BreakpointBox({ session }: { readonly session: TrajectorySession }) {
  const {
    current: row,
    debug: { breakpoints },
  } = session;
  useChanges(breakpoints.changed);
  const spot = row === undefined ? undefined : breakpoints.spotAt(row);
  const existing = spot === undefined ? undefined : breakpoints.get(spot);
  const others = breakpoints.all.filter((one) => one.key !== existing?.key);
  return (
    <section
      class="breakpoint-box"
      aria-label="Breakpoints"
      onKeyDown={(event) => {
        if (event.key === 'Escape') session.debug.openBox(false);
      }}
    >
      <header class="section-head">
        <h2>{spot === undefined ? 'Breakpoints' : `Breakpoint on ${nameOf(spot)}`}</h2>
        <span class="dim">{reach(session, spot)}</span>
        <span class="grow" />
        <Button
          kind="icon"
          icon="close"
          label="Close"
          title="Close (Esc)"
          onClick={() => session.debug.openBox(false)}
        />
      </header>
      {spot !== undefined && breakpoints.settable && (
        <Conditions key={keyOf(spot)} session={session} spot={spot} existing={existing} />
      )}
      {others.map((one) => (
        <Line key={one.key} session={session} breakpoint={one} />
      ))}
      {spot === undefined && others.length === 0 && (
        <p class="value-empty dim">No breakpoints. Select a tool call or a step to set one.</p>
      )}
    </section>
  );
}

function reach({ debug: { breakpoints }, data }: TrajectorySession, spot: Spot | undefined): string {
  if (breakpoints.live && spot?.on !== 'event')
    return `Pauses every attempt of ${data.batch?.name ?? 'the batch'} here`;
  return breakpoints.settable ? 'Stops the debugger in the editor' : '';
}

function Conditions({
  session,
  spot,
  existing,
}: {
  readonly session: TrajectorySession;
  readonly spot: Spot;
  readonly existing: RowBreakpoint | undefined;
}) {
  const [log, setLog] = useState(existing?.log !== undefined);
  const [when, setWhen] = useState(existing?.when ?? '');
  const [hits, setHits] = useState(existing?.hits === undefined ? '' : String(existing.hits));
  const [text, setText] = useState(existing?.log ?? '');
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLElement | null>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const count = Number(hits);
  const wrongCount = hits.trim() !== '' && !(Number.isInteger(count) && count >= 1);
  const narrowing: SpotCondition = {
    ...(when.trim() === '' ? {} : { when: when.trim() }),
    ...(count > 1 && !wrongCount ? { hits: count } : {}),
    ...(log && text !== '' ? { log: text } : {}),
  };
  const set = (): void => {
    if (wrongCount || (log && text === ''))
      setProblem(wrongCount ? 'Enter a hit count of at least 1.' : 'Enter a log message.');
    else
      session.debug.breakpoints.set(spot, narrowing).then(
        () => session.debug.openBox(false),
        (error: unknown) => setProblem(errorText(error)),
      );
  };
  const remove = (): void => {
    if (existing !== undefined)
      session.debug.breakpoints.remove(existing).then(
        () => session.debug.openBox(false),
        (error: unknown) => setProblem(errorText(error)),
      );
  };
  return (
    <>
      <div class="breakpoint-fields">
        <Dropdown
          label="Action"
          value={log ? 'log' : 'hold'}
          options={[
            { value: 'hold', text: 'Pause' },
            { value: 'log', text: 'Log message' },
          ]}
          onChange={(value) => setLog(value === 'log')}
        />
        <TextField
          label="Condition"
          placeholder="Condition, e.g. tool.arguments.days > 7"
          value={when}
          inputRef={field}
          onInput={(value) => {
            setWhen(value);
            setProblem(undefined);
          }}
          onEnter={set}
        />
        <TextField
          label="Hit count"
          placeholder="Hit count"
          value={hits}
          invalid={wrongCount}
          onInput={setHits}
          onEnter={set}
        />
        {log && (
          <TextField
            label="Log message"
            placeholder="Log message, e.g. {tool.arguments.days} days"
            value={text}
            onInput={setText}
            onEnter={set}
          />
        )}
      </div>
      {problem === undefined ? (
        <SoFar session={session} spot={spot} narrowing={narrowing} />
      ) : (
        <p class="edit-problem" role="alert">
          {problem}
        </p>
      )}
      <div class="edit-buttons">
        <Button kind="primary" label={existing === undefined ? 'Add' : 'Update'} onClick={set} />
        {existing !== undefined && <Button kind="secondary" label="Remove" onClick={remove} />}
      </div>
    </>
  );
}

/** Shows how often the condition would have matched so far. */
function SoFar({
  session: { data },
  spot,
  narrowing,
}: {
  readonly session: TrajectorySession;
  readonly spot: Spot;
  readonly narrowing: SpotCondition;
}) {
  const [counted, setCounted] = useState<Awaited<ReturnType<typeof hitsSoFar>>>();
  const { last } = data.model;
  useEffect(() => {
    let left = false;
    hitsSoFar(data, spot, narrowing).then(
      (result) => {
        if (!left) setCounted(result);
      },
      () => setCounted(undefined),
    ); // A referenced value may be gone, so the count is unknown.
    return () => {
      left = true;
    };
  }, [data, keyOf(spot), narrowing.when, last]);
  if (counted === undefined) return null;
  return (
    <p class="value-empty dim" role="status">
      Matches {counted.hits} of {counted.of} {counted.of === 1 ? 'call' : 'calls'} of this rollout so far.
    </p>
  );
}

function Line({ session, breakpoint }: { readonly session: TrajectorySession; readonly breakpoint: RowBreakpoint }) {
  const { name, when, log, foreign } = breakpoint;
  return (
    <div class="breakpoint-line" title={breakpointText(breakpoint)}>
      <BreakpointMark breakpoint={breakpoint} />
      <span>{name}</span>
      {when !== undefined && <code>{when}</code>}
      {log !== undefined && <span class="dim">“{log}”</span>}
      {foreign && <span class="mark">Another client</span>}
      <span class="grow" />
      {!session.readOnly && (
        <Button
          kind="icon"
          icon="trash"
          label={`Remove breakpoint on ${name}`}
          onClick={() => session.debug.run(session.debug.breakpoints.remove(breakpoint))}
        />
      )}
    </div>
  );
}
