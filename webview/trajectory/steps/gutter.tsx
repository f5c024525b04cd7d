/** The edge of a row: its breakpoint, and whether the rollout is held there. A click sets a breakpoint. */
import { Icon, type IconName } from '../../components/marks/icon.tsx';
import type { RowBreakpoint } from '../debug/breakpoints.ts';
import type { TrajectorySession } from '../session.ts';
import type { Row } from './rows.ts';

export function Gutter({
  session,
  row,
  held,
}: {
  readonly session: TrajectorySession;
  readonly row: Row;
  readonly held: boolean;
}) {
  const { breakpoints } = session.debug;
  const breakpoint = breakpoints.at(row);
  const settable = breakpoints.settable && breakpoints.spotAt(row) !== undefined;
  const title =
    breakpoint === undefined
      ? settable
        ? 'Add breakpoint (B), or conditional breakpoint (Shift+B)'
        : undefined
      : breakpointText(breakpoint);
  const onClick = (event: MouseEvent): void => {
    if (!settable && breakpoint === undefined) return;
    event.stopPropagation();
    session.goToRow(row);
    session.debug.toggleBreakpoint();
  };
  const onContextMenu = (event: MouseEvent): void => {
    if (!settable && breakpoint === undefined) return;
    event.preventDefault();
    session.goToRow(row);
    session.debug.openBox(true);
  };
  return (
    <span
      class={`step-gutter${settable ? ' is-settable' : ''}`}
      title={title}
      onClick={onClick}
      onDblClick={(event) => event.stopPropagation()}
      onContextMenu={onContextMenu}
    >
      {breakpoint === undefined ? (
        held && (
          <span class="gutter-held">
            <Icon name="debug-stackframe" label="paused here" />
          </span>
        )
      ) : (
        <BreakpointMark breakpoint={breakpoint} held={held} />
      )}
    </span>
  );
}

/**
 * The icon of a breakpoint: a disc, with bars for a condition or hit count, or a diamond for a logpoint. Outlined if it
 * is not in effect.
 */
export function BreakpointMark({
  breakpoint,
  held = false,
}: {
  readonly breakpoint: RowBreakpoint;
  readonly held?: boolean;
}) {
  const { armed, log, when, hits } = breakpoint;
  const form = log !== undefined ? 'log' : when !== undefined || hits !== undefined ? 'conditional' : 'plain';
  const icon: IconName =
    form === 'log'
      ? armed
        ? 'debug-breakpoint-log'
        : 'debug-breakpoint-log-unverified'
      : form === 'conditional'
        ? armed
          ? 'debug-breakpoint-conditional'
          : 'debug-breakpoint-conditional-unverified'
        : armed
          ? 'circle-filled'
          : 'circle-large';
  const kind = { log: 'logpoint', conditional: 'conditional breakpoint', plain: 'breakpoint' }[form];
  return (
    <span class={`breakpoint-mark${armed ? '' : ' is-off'}`}>
      <Icon name={icon} label={`${kind}${armed ? '' : ', not in effect'}${held ? ', paused here' : ''}`} />
    </span>
  );
}

/** Returns `Breakpoint on renew_loan: tool.arguments.days > 7, from hit 3`. */
export function breakpointText({ name, when, hits, log, armed, foreign }: RowBreakpoint): string {
  const parts = [
    ...(when === undefined ? [] : [when]),
    ...(hits === undefined ? [] : [`from hit ${hits}`]),
    ...(log === undefined ? [] : [`logs “${log}”`]),
  ];
  return (
    `${log === undefined ? 'Breakpoint' : 'Logpoint'} on ` +
    `${name}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}` +
    (armed ? '' : ' (not set in the running batch; press B to set it there)') +
    (foreign ? ' (set by another client)' : '')
  );
}
