/** The breakpoint on the selection with its condition, and a list of all others. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import { Button, Dropdown, TextField } from '../../../components/controls.tsx';
import { useChanges } from '../../../data/observe.ts';
import { hitsSoFar, type ShownBreakpoint } from '../../debug/breakpoints.ts';
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
  const there = spot === undefined ? undefined : breakpoints.get(spot);
  const others = breakpoints.all.filter((one) => one.key !== there?.key);
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
        <Conditions key={keyOf(spot)} session={session} spot={spot} there={there} />
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
    return `holds every attempt of ${data.batch?.name ?? 'the batch'} that gets here`;
  return breakpoints.settable ? 'stops the debugger in the editor' : '';
}

function Conditions({
  session,
  spot,
  there,
}: {
  readonly session: TrajectorySession;
  readonly spot: Spot;
  readonly there: ShownBreakpoint | undefined;
}) {
  const [log, setLog] = useState(there?.log !== undefined);
  const [when, setWhen] = useState(there?.when ?? '');
  const [hits, setHits] = useState(there?.hits === undefined ? '' : String(there.hits));
  const [text, setText] = useState(there?.log ?? '');
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLElement | null>(null);
  useEffect(() => field.current?.focus(), []);
  const count = Number(hits);
  const wrongCount = hits.trim() !== '' && !(Number.isInteger(count) && count >= 1);
  const narrowing: SpotCondition = {
    ...(when.trim() === '' ? {} : { when: when.trim() }),
    ...(count > 1 && !wrongCount ? { hits: count } : {}),
    ...(log && text !== '' ? { log: text } : {}),
  };
  const set = (): void => {
    if (wrongCount || (log && text === ''))
      setProblem(wrongCount ? 'Enter a hit count of at least 1.' : 'Enter the line that the log point writes.');
    else
      session.debug.breakpoints.set(spot, narrowing).then(
        () => session.debug.openBox(false),
        (error: unknown) => setProblem(errorText(error)),
      );
  };
  const remove = (): void => {
    if (there !== undefined)
      session.debug.breakpoints.remove(there).then(
        () => session.debug.openBox(false),
        (error: unknown) => setProblem(errorText(error)),
      );
  };
  return (
    <>
      <div class="breakpoint-fields">
        <Dropdown
          label="What it does"
          value={log ? 'log' : 'hold'}
          options={[
            { value: 'hold', text: 'holds' },
            { value: 'log', text: 'logs a line' },
          ]}
          onChange={(value) => setLog(value === 'log')}
        />
        <TextField
          label="Condition"
          placeholder="when, e.g. tool.arguments.days > 7"
          value={when}
          inputRef={field}
          onInput={(value) => {
            setWhen(value);
            setProblem(undefined);
          }}
          onEnter={set}
        />
        <TextField
          label="First hit that counts"
          placeholder="from hit"
          value={hits}
          invalid={wrongCount}
          onInput={setHits}
          onEnter={set}
        />
        {log && (
          <TextField
            label="Line to log"
            placeholder="line, with {tool.arguments.days} filled in"
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
        <Button kind="primary" label={there === undefined ? 'Set' : 'Change'} onClick={set} />
        {there !== undefined && <Button kind="secondary" label="Remove" onClick={remove} />}
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
  const [found, setFound] = useState<Awaited<ReturnType<typeof hitsSoFar>>>();
  const { last } = data.model;
  useEffect(() => {
    let left = false;
    hitsSoFar(data, spot, narrowing).then(
      (now) => {
        if (!left) setFound(now);
      },
      () => setFound(undefined),
    ); // a value that is gone: then nothing can be said
    return () => {
      left = true;
    };
  }, [data, keyOf(spot), narrowing.when, last]);
  if (found === undefined) return null;
  return (
    <p class="value-empty dim" role="status">
      It fits {found.hits} of {found.of} {found.of === 1 ? 'call' : 'calls'} of this rollout so far.
    </p>
  );
}

function Line({ session, breakpoint }: { readonly session: TrajectorySession; readonly breakpoint: ShownBreakpoint }) {
  const { name, when, log, foreign } = breakpoint;
  return (
    <div class="breakpoint-line" title={breakpointText(breakpoint)}>
      <BreakpointMark breakpoint={breakpoint} />
      <span>{name}</span>
      {when !== undefined && <code>{when}</code>}
      {log !== undefined && <span class="dim">“{log}”</span>}
      {foreign && <span class="mark">of another client</span>}
      <span class="grow" />
      {!session.readOnly && (
        <Button
          kind="icon"
          icon="trash"
          label={`Remove the breakpoint on ${name}`}
          onClick={() => session.debug.run(session.debug.breakpoints.remove(breakpoint))}
        />
      )}
    </div>
  );
}
