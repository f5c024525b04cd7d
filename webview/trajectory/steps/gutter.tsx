/** The edge of a row: whether a breakpoint is on it, and whether the rollout is held there. A click sets one. */
import { Icon, type IconName } from '../../components/marks/icon.tsx';
import type { ShownBreakpoint } from '../debug/breakpoints.ts';
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
  const shown = breakpoints.at(row);
  const settable = breakpoints.settable && breakpoints.spotAt(row) !== undefined;
  const title =
    shown === undefined
      ? settable
        ? 'Set a breakpoint (B); Shift+B with a condition'
        : undefined
      : breakpointText(shown);
  const onClick = (event: MouseEvent): void => {
    if (!settable && shown === undefined) return;
    event.stopPropagation();
    session.goToRow(row);
    session.debug.toggleBreakpoint();
  };
  const onContextMenu = (event: MouseEvent): void => {
    if (!settable && shown === undefined) return;
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
      {shown === undefined ? (
        held && (
          <span class="gutter-held">
            <Icon name="debug-stackframe" label="held here" />
          </span>
        )
      ) : (
        <BreakpointMark breakpoint={shown} held={held} />
      )}
    </span>
  );
}

/**
 * Its sign: a disc, with bars where it has a condition or counts, a diamond where it only writes a line. Outlined while
 * it holds nothing.
 */
export function BreakpointMark({
  breakpoint,
  held = false,
}: {
  readonly breakpoint: ShownBreakpoint;
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
  const kind = { log: 'log point', conditional: 'conditional breakpoint', plain: 'breakpoint' }[form];
  return (
    <span class={`breakpoint-mark${armed ? '' : ' is-off'}`}>
      <Icon name={icon} label={`${kind}${armed ? '' : ', off'}${held ? ', held here' : ''}`} />
    </span>
  );
}

/** `Breakpoint on renew_loan: tool.arguments.days > 7, from the 3rd hit on`. */
export function breakpointText({ name, when, hits, log, armed, foreign }: ShownBreakpoint): string {
  const parts = [
    ...(when === undefined ? [] : [when]),
    ...(hits === undefined ? [] : [`from hit ${hits} on`]),
    ...(log === undefined ? [] : [`writes “${log}”`]),
  ];
  return (
    `${log === undefined ? 'Breakpoint' : 'Log point'} on ` +
    `${name}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}` +
    `${armed ? '' : ' (not set in the running batch; press B to set it)'}${foreign ? ' (set by another client)' : ''}`
  );
}
