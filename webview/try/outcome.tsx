/** What a call gave, and one that is being made. */
import { useEffect, useState } from 'preact/hooks';
import { StudioError } from '../../src/common/errors.ts';
import { ErrorWords } from '../components/errors/errorWords.tsx';
import { Glyph } from '../components/marks/glyph.tsx';
import { Blobs } from '../data/blobs.ts';
import { bytes, clock, duration } from '../format.ts';
import { Ansi } from '../text/ansi.tsx';
import { ValueView } from '../values/valueView.tsx';
import type { Running, Try, TrySession } from './trySession.ts';

/** Nothing of a tried call is kept as a blob. */
const NOTHING = new Blobs({
  getBlob: (sha) => Promise.reject(new StudioError('not_found', `There is no blob ${sha}: a tried call is not recorded.`)),
  blobPieces: () => {
    throw new StudioError('not_found', 'A tried call is not recorded.');
  },
});
const TICK_MS = 100;

/** How a call went, in one line. */
export function outcomeText(outcome: Try['outcome']): string {
  if (!('call' in outcome)) return outcome.why === 'cancelled' ? 'cancelled' : 'could not be called';
  const { error, ms, retries = [] } = outcome.call;
  return `${error === undefined ? 'ok' : error.class} · ${duration(ms)}${retries.length === 0 ? '' : ` · made again ${retries.length}×`}`;
}

export function Outcome({ of: { at, outcome }, session }: { readonly of: Try; readonly session: TrySession }) {
  const head = (
    <header class="try-outcome">
      <OutcomeGlyph outcome={outcome} /> <strong>{outcomeText(outcome)}</strong> <span class="dim">at {clock(at)}</span>
    </header>
  );
  if (!('call' in outcome)) return <section aria-label="Outcome">{head}{outcome.why === 'failed' && <p class="try-failed">{outcome.text}</p>}</section>;
  const { error, result, files = [], log } = outcome.call;
  const shared = {
    blobs: NOTHING,
    onCopy: (text: string) => session.post({ type: 'copy', text }),
    onDocument: (title: string, text: string, language: string) => session.post({ type: 'document', title, text, language }),
  };
  return (
    <section aria-label="Outcome">
      {head}
      {error === undefined
        ? <ValueView title="Result" value={result ?? null} {...shared} />
        : <div class="try-error"><ErrorWords error={error} onOpen={(place) => session.post({ type: 'source', place })} /></div>}
      {files.map(({ mime_type: media, content }, index) => (media.startsWith('image/')
        ? <ValueView key={index} title={media} label={`${media}, ${index + 1}`} value={`data:${media};base64,${content}`} {...shared} />
        : <p class="try-file" key={index}>{media}, {bytes(Math.floor((content.length * 3) / 4))}</p>))}
      {log !== '' && <Printed title="Printed" text={log} />}
    </section>
  );
}

export function RunningView({ running }: { readonly running: Running }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const ticking = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(ticking);
  }, []);
  return (
    <section aria-label="Outcome">
      <header class="try-outcome"><OutcomeGlyph outcome={undefined} /> <strong>Running</strong> <span class="dim">{duration(Math.max(0, now - running.since))}</span></header>
      <progress class="only-read" aria-label="The tool runs" />
      {running.told.length > 0 && <Printed title="Printed so far" text={running.told.join('\n')} />}
    </section>
  );
}

export function OutcomeGlyph({ outcome }: { readonly outcome: Try['outcome'] | undefined }) {
  if (outcome === undefined) return <Glyph outcome="running" />;
  if (!('call' in outcome)) return <Glyph outcome={outcome.why === 'cancelled' ? 'truncated' : 'infrastructure'} />;
  return <Glyph outcome={outcome.call.error === undefined ? 'passed' : 'failed'} />;
}

function Printed({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section class="value" aria-label={title}>
      <header class="section-head"><h3>{title}</h3></header>
      <div class="try-printed"><Ansi text={text.trimEnd()} /></div>
    </section>
  );
}
