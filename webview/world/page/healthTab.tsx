/** The findings of the lint, errors first, and how strong the verifiers are. */
import { useState } from 'preact/hooks';
import { plural } from '../../../src/common/text.ts';
import { count } from '../../../src/common/units.ts';
import { type Finding, isWeak, type VerifierStrength } from '../../../src/common/worldHealth.ts';
import { Button } from '../../components/controls.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { clock } from '../../format.ts';
import { AsideLink, SetAside } from './setAside.tsx';
import type { TabProps } from './worldPage.tsx';

/** A verifier that only a judge can read. */
const RUBRIC = 'rubric';
const SEVERITIES = { error: 'error', warning: 'warning' } as const;

export function HealthTab({ session, details }: TabProps) {
  const [hidden, setHidden] = useState<ReadonlySet<Finding['severity']>>(new Set());
  const { health: checked } = session;
  if (checked === undefined && session.isChecking)
    return (
      <>
        <p class="world-remark" role="status">
          Checking…
        </p>
        <Skeleton />
      </>
    );
  const aside = <SetAside session={session} details={details} />;
  if (checked === undefined)
    return (
      <>
        <EmptyState
          icon={details.problems.length === 0 ? 'search' : 'warning'}
          title="Not checked yet"
          text={
            details.problems.length === 0
              ? 'The check looks for mistakes in the files, the code, and the verifiers of this world.'
              : `Its files have problems: ${details.problems.join(' ')}`
          }
          actions={details.kind === 'code' ? [{ label: 'Check Now', onClick: () => session.check() }] : []}
        />
        {aside}
      </>
    );
  const { findings, strength, stopped } = checked.health;
  const shown = findings.filter(({ severity }) => !hidden.has(severity));
  const toggle = (severity: Finding['severity']): void => {
    const next = new Set(hidden);
    if (!next.delete(severity)) next.add(severity);
    setHidden(next);
  };
  return (
    <div class={`world-health${session.isChecking ? ' is-old' : ''}`}>
      <section class="world-findings" aria-label="Findings">
        <div class="world-tools">
          {(['error', 'warning'] as const).map((severity) => {
            const number = findings.filter((finding) => finding.severity === severity).length;
            return (
              <Button
                key={severity}
                kind="secondary"
                icon={SEVERITIES[severity]}
                label={plural(number, severity)}
                pressed={!hidden.has(severity)}
                disabled={number === 0}
                onClick={() => toggle(severity)}
              />
            );
          })}
          <span class="grow" />
          <span class="dim" role="status">
            {session.isChecking ? 'Checking…' : `checked at ${clock(checked.at)}`}
          </span>
          <Button
            kind="secondary"
            icon="refresh"
            label="Check Again"
            disabled={session.isChecking}
            onClick={() => session.check()}
          />
        </div>
        {stopped !== undefined && <p class="world-remark">{stopped}</p>}
        {findings.length === 0 ? (
          <p class="world-remark">No findings.</p>
        ) : (
          <ol class="world-finding-list">
            {shown.map((finding, index) => (
              <FindingItem key={index} session={session} details={details} finding={finding} />
            ))}
          </ol>
        )}
        {aside}
      </section>
      <section class="world-strength" aria-label="Verifier strength">
        <header class="section-head">
          <h2>Verifier strength</h2>
          <span class="dim">mutants rejected, from a passing final state</span>
        </header>
        {strength.length === 0 ? (
          <p class="world-remark">
            {details.tasks.some(({ verifiers }) => verifiers.some((kind) => kind !== RUBRIC))
              ? 'Measured once an attempt has passed. Run a batch, then check again.'
              : 'Only verifiers with code are measured. No task has one.'}
          </p>
        ) : (
          <ol class="world-strength-list">
            {strength.map((each) => (
              <StrengthItem
                key={`${each.task} ${each.verifier}`}
                strength={each}
                text={details.tasks[each.task]?.text ?? ''}
              />
            ))}
          </ol>
        )}
      </section>
    </div>
  );
}

function FindingItem({ session, details, finding }: TabProps & { readonly finding: Finding }) {
  const { severity, message, hint, place, source, task } = finding;
  const broken = task === undefined ? undefined : details.tasks[task];
  const label = `${place.file}:${place.line}`;
  return (
    <li class={`world-finding is-${severity}`}>
      <Icon name={SEVERITIES[severity]} />
      <span class="only-read">{severity}</span>
      <div>
        <strong>{message}</strong>
        <p class="dim">{hint}</p>
        {broken !== undefined && details.kind === 'code' && <AsideLink session={session} task={broken} />}
      </div>
      {source === undefined ? (
        <button
          type="button"
          class="link is-link source-link"
          title={`Open ${label}`}
          onClick={() => session.post({ type: 'published', ...place })}
        >
          {label.slice(label.lastIndexOf('/') + 1)}
        </button>
      ) : (
        <button
          type="button"
          class="link is-link source-link"
          title={`Open the ${partLabel(source)} at line ${source.line}`}
          onClick={() => {
            if (task !== undefined) session.select({ task });
            session.post({
              type: 'open',
              part: source.part,
              line: source.line,
              ...(source.task === undefined ? {} : { task: source.task }),
            });
          }}
        >
          {partLabel(source)}:{source.line}
        </button>
      )}
    </li>
  );
}

/** Names a part of a scenario as people do. */
function partLabel({ part, task }: NonNullable<Finding['source']>): string {
  const of = task === undefined ? '' : ` ${task}`;
  if (part === 'codeVerifier') return `verifier${of}`;
  return part === 'sqlVerifier' ? `SQL verifier${of}` : part;
}

function StrengthItem({
  strength: { task, verifier, mutants, rejected, accepted },
  text,
}: {
  readonly strength: VerifierStrength;
  readonly text: string;
}) {
  const share = mutants === 0 ? 0 : rejected / mutants;
  return (
    <li title={text}>
      <code class="world-row-id">{task}</code>
      <span class="world-row-text">
        {text} <span class="dim">{verifier}</span>
      </span>
      <span class="world-bar" aria-hidden="true">
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span class="quantity">
        <b>{count(rejected)}</b>/{count(mutants)}
      </span>
      <span class="world-weak">{isWeak({ mutants, rejected }) ? 'weak' : ''}</span>
      {accepted.length > 0 && <span class="world-accepted dim">Accepts {accepted.join(', ')}</span>}
    </li>
  );
}
