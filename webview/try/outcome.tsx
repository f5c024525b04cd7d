/** The outcome of a call, and the view of a running one. */
import { useEffect, useState } from 'preact/hooks';
import { StudioError } from '../../src/common/errors.ts';
import { plural } from '../../src/common/text.ts';
import { bytes, duration } from '../../src/common/units.ts';
import { ErrorSummary } from '../components/errors/errorSummary.tsx';
import { Glyph } from '../components/marks/glyph.tsx';
import { Blobs } from '../data/blobs.ts';
import { clock } from '../format.ts';
import { ValueView } from '../values/valueView.tsx';
import { WorldRows } from '../world/worldRows.tsx';
import { Printed } from './printed.tsx';
import type { RunningTry, Try, TrySession } from './trySession.ts';

/** Calls of this panel store no blobs. */
const NO_BLOBS = new Blobs({
  getBlob: () => Promise.reject(notRecorded()),
  blobPart: () => Promise.reject(notRecorded()),
  blobChunks: () => {
    throw notRecorded();
  },
});
const TICK_MS = 100;

const notRecorded = (): StudioError => new StudioError('not_found', 'Calls made with Try Tool are not recorded.');

/** Returns the outcome of a call in one line. */
export function outcomeText(outcome: Try['outcome']): string {
  if (!('call' in outcome)) return outcome.why === 'cancelled' ? 'cancelled' : 'failed to start';
  const { error, ms, retries = [] } = outcome.call;
  return (
    `${error === undefined ? 'ok' : error.class} · ` +
    `${duration(ms)}${retries.length === 0 ? '' : ` · ${plural(retries.length, 'retry', 'retries')}`}`
  );
}

export function Outcome({ run: { at, outcome }, session }: { readonly run: Try; readonly session: TrySession }) {
  const head = (
    <header class="try-outcome">
      <OutcomeGlyph outcome={outcome} /> <strong>{outcomeText(outcome)}</strong>{' '}
      <span class="dim">
        at {clock(at)}
        {'call' in outcome &&
          outcome.call.world !== undefined &&
          ` · ${outcome.call.world.name}, ${outcome.call.world.task}`}
      </span>
    </header>
  );
  if (!('call' in outcome)) {
    const { why, text, printed } = outcome;
    return (
      <section aria-label="Outcome">
        {head}
        {why === 'failed' && <p class="try-failed">{text}</p>}
        {printed.length > 0 && <Printed title="Printed" text={printed.join('\n')} from="end" />}
      </section>
    );
  }
  const { error, result, files = [], changes = [], log, needs_world: needsWorld } = outcome.call;
  const shared = {
    blobs: NO_BLOBS,
    onCopy: (text: string) => session.post({ type: 'copy', text }),
    onDocument: (title: string, text: string, language: string) =>
      session.post({ type: 'document', title, text, language }),
  };
  return (
    <section aria-label="Outcome">
      {head}
      {error === undefined ? (
        <ValueView title="Result" value={result ?? null} {...shared} />
      ) : (
        <div class="try-error">
          <ErrorSummary error={error} onOpen={(place) => session.post({ type: 'source', place })} />
        </div>
      )}
      {needsWorld === true && (
        <p class="try-remark">
          {session.worlds.length > 0
            ? 'This tool reads the state of a world. Choose a world above.'
            : 'This tool reads the state of a world, but no world of a batch file in this workspace provides it. ' +
              'Return the tool from the `open` function of a world.'}
        </p>
      )}
      {changes.length > 0 && (
        <section class="value" aria-label="World changes">
          <header class="section-head">
            <h3>World</h3>
            <span class="dim">{plural(changes.length, 'row')} changed</span>
          </header>
          <WorldRows
            changes={changes}
            all="an editor"
            onAll={() =>
              session.post({
                type: 'document',
                title: 'changes.json',
                text: JSON.stringify(changes, null, 2),
                language: 'json',
              })
            }
          />
          {error !== undefined && <p class="try-remark">The call failed but changed the world.</p>}
        </section>
      )}
      {files.map(({ mime_type: media, content }, index) =>
        media.startsWith('image/') ? (
          <ValueView
            key={index}
            title={media}
            label={`${media}, ${index + 1}`}
            value={`data:${media};base64,${content}`}
            {...shared}
          />
        ) : (
          <p class="try-file" key={index}>
            {media}, {bytes(Math.floor((content.length * 3) / 4))}
          </p>
        ),
      )}
      {log !== '' && <Printed title="Printed" text={log} />}
    </section>
  );
}

export function RunningView({ running }: { readonly running: RunningTry }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const ticking = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(ticking);
  }, []);
  return (
    <section aria-label="Outcome">
      <header class="try-outcome">
        <OutcomeGlyph outcome={undefined} /> <strong>Running</strong>{' '}
        <span class="dim">{duration(Math.max(0, now - running.since))}</span>
      </header>
      <progress class="only-read" aria-label="Running" />
      {running.printed.length > 0 && <Printed title="Printed so far" text={running.printed.join('\n')} from="newest" />}
    </section>
  );
}

export function OutcomeGlyph({ outcome }: { readonly outcome: Try['outcome'] | undefined }) {
  if (outcome === undefined) return <Glyph outcome="running" />;
  if (!('call' in outcome)) return <Glyph outcome={outcome.why === 'cancelled' ? 'truncated' : 'infrastructure'} />;
  return <Glyph outcome={outcome.call.error === undefined ? 'passed' : 'failed'} />;
}
